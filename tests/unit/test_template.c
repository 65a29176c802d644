/* Templates: whose file is read, what is refused, and what the digest covers. */
#include "test_base_scratch.h"

#include "conf/names.h"
#include "conf/template.h"

#include <sys/stat.h>

/* The places of a test: config/templates, and templates with a recipe. */
static struct paths *places(const char *folder)
{
    struct paths *paths = xnew(struct paths);
    paths->config = file_join(folder, "config");
    paths->templates = file_join(folder, "shipped");
    autofree char *own = file_join(paths->config, "templates");
    assert_ok(file_make_folder(own, 0700, &err));
    assert_ok(file_make_folder(paths->templates, 0700, &err));
    autofree char *recipe = file_join(paths->templates, "debian.sh");
    assert_ok(file_replace(recipe, "#!/bin/sh\n", 10, 0755, &err));
    return paths;
}

static void put(const char *folder, const char *sub, const char *name, const char *text)
{
    autofree char *path = xasprintf("%s/%s/%s", folder, sub, name);
    assert_ok(file_replace(path, text, strlen(text), 0600, &err));
}

/* The digest of a template with this text. */
static char *digest_of(const struct paths *paths, const char *folder, const char *text)
{
    put(folder, "shipped", "t.ini", text);
    auto(template) struct template *template = NULL;
    assert_ok(template_load(paths, "t", &template, &err));
    assert_int_equal(strlen(template->digest), 64);
    return xstrdup(template->digest);
}

static void fields_are_read(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    put(*state, "shipped", "t.ini",
        "[template]\nabout = A test\n[image]\nsuite = trixie\nmirror = http://m/debian\npackages =\n git\n "
        "g++\n"
        "user = me\n[setup one]\nrun =\n if true\n then echo a ; echo b\n fi\n[setup two]\nrun = x\n"
        "[vm]\ndisk-min = 16G\ncpu = Nehalem\nkernel-options = quiet a=b\n");
    auto(template) struct template *t = NULL;
    assert_ok(template_load(paths, "t", &t, &err));
    assert_string_equal(t->name, "t");
    assert_string_equal(t->about, "A test");
    assert_string_equal(t->distribution, "debian");
    assert_string_equal(t->suite, "trixie");
    assert_string_equal(t->mirror, "http://m/debian");
    assert_null(t->security_mirror);
    assert_string_equal(t->packages[0], "git");
    assert_string_equal(t->packages[1], "g++");
    assert_null(t->packages[2]);
    assert_int_equal(t->setup_count, 2);
    assert_string_equal(t->setup[0].name, "one");
    assert_string_equal(t->setup[0].script, "if true\nthen echo a ; echo b\nfi\n");
    assert_string_equal(t->setup[1].script, "x\n");
    assert_string_equal(t->user, "me");
    assert_true(t->disk_min == 16ULL << 30);
    assert_string_equal(t->cpu_model, "Nehalem");
    assert_string_equal(t->kernel_options, "quiet a=b");
    assert_false(t->user_file);
}

static void the_users_file_wins(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    put(*state, "shipped", "t.ini", "[image]\nsuite = trixie\n");
    put(*state, "config/templates", "t.ini", "[image]\nsuite = sid\n");
    auto(template) struct template *t = NULL;
    assert_ok(template_load(paths, "t", &t, &err));
    assert_string_equal(t->suite, "sid");
    assert_true(t->user_file);
}

static void missing_ones_offer_the_nearest(void **state)
{
    auto(paths) struct paths *paths = places(*state);
    put(*state, "shipped", "debian-13.ini", "[image]\nsuite = trixie\n");
    put(*state, "shipped", "debian-12.ini", "[image]\nsuite = bookworm\n");
    put(*state, "config/templates", "mine.ini", "[image]\nsuite = sid\n");
    put(*state, "config/templates", "debian-12.ini", "[image]\nsuite = sid\n");
    put(*state, "config/templates", "Not A Name.ini", "");
    put(*state, "config/templates", ".ini", "");
    struct template *t = NULL;
    auto(error) struct error *err = NULL;
    assert_int_equal(template_load(paths, "debain-13", &t, &err), -ERROR_NOT_FOUND);
    assert_string_equal(err->message, "there is no template \"debain-13\"");
    assert_string_equal(err->hint, "did you mean \"debian-13\"? There are: debian-12, debian-13, mine");
    assert_int_equal(template_load(paths, "../t", &t, NULL), -ERROR_INVALID);
    char **names = template_names(paths);
    assert_string_equal(names[0], "debian-12");
    assert_string_equal(names[2], "mine");
    assert_null(names[3]);
    names_free(names);
}

static void bad_values_name_their_place(void **state)
{
    static const char *const bad[][2] = {
        {"[image]\n", "t.ini:1:1: [image] has no \"suite\""},
        {"[image]\nsuite = a\ndistribution = suse\n", "t.ini:3:16: no recipe for \"suse\""},
        {"[image]\nsuite = a\nuser = Root\n", "t.ini:3:8: \"Root\" is no user's name"},
        {"[image]\nsuite = a\nkernel = -x\n", "t.ini:3:10: \"-x\" is no package's name"},
        {"[image]\nsuite = a\nmirror = none\n", "t.ini:3:10: \"mirror\" cannot be none"},
        {"[image]\nsuite = a\npackages =\n git\n --yes\n",
         "item 2 of \"packages\" is no package's name: \"--yes\""},
        {"[image]\nsuite = a\npackages = git, curl\n", "item 1 of \"packages\""},
        {"[image]\nsuite = a\n[vm]\ndisk-min = 1G\n", "t.ini:4:12: \"disk-min\" is 2G to 1T"},
        {"[image]\nsuite = a\n[vm]\ndisk-min = 2T\n", "t.ini:4:12: \"disk-min\" is 2G to 1T"},
    };
    auto(paths) struct paths *paths = places(*state);
    for (size_t i = 0; i < countof(bad); i++) {
        struct template *t = NULL;
        put(*state, "shipped", "t.ini", bad[i][0]);
        assert_error(template_load(paths, "t", &t, &err), ERROR_INVALID, bad[i][1]);
        assert_null(t);
    }
}

static void the_digest_covers_the_contents(void **state)
{
    static const char same[] = "# words\n[image]\npackages =\n a1\n b1\nsuite = x\n";
    static const char *const others[] = {
        "[image]\nsuite = y\npackages =\n a1\n b1\n",
        "[image]\nsuite = x\npackages =\n a1\n b1\n c1\n",
        "[image]\nsuite = x\npackages =\n b1\n a1\n",
        "[image]\nsuite = x\npackages =\n a1b1\n",
        "[image]\nsuite = x\nuser = me\npackages =\n a1\n b1\n",
        "[image]\nsuite = x\nmirror = http://m\npackages =\n a1\n b1\n",
        "[image]\nsuite = x\nsecurity-mirror = none\npackages =\n a1\n b1\n",
        "[image]\nsuite = x\nkernel = k1\npackages =\n a1\n b1\n",
        "[image]\nsuite = x\narchitecture = arm64\npackages =\n a1\n b1\n",
        "[image]\nsuite = x\npackages =\n a1\n b1\n[vm]\ndisk-min = 9G\n",
        "[image]\nsuite = x\npackages =\n a1\n b1\n[setup a]\nrun = c\n",
        "[image]\nsuite = x\npackages =\n a1\n b1\n[setup b]\nrun = c\n",
    };
    auto(paths) struct paths *paths = places(*state);
    autofree char *first = digest_of(paths, *state, "[image]\nsuite = x\npackages =\n a1\n b1\n");
    autofree char *again = digest_of(paths, *state, same);
    assert_string_equal(first, again);
    /* What a start decides, and words, change no image. */
    autofree char *start = digest_of(paths, *state,
                                     "[template]\nabout = z\n[image]\nsuite = x\npackages =\n a1\n b1\n"
                                     "[vm]\ncpu = c\nkernel-options = k\n");
    assert_string_equal(first, start);
    char *seen[countof(others)];
    for (size_t i = 0; i < countof(others); i++) {
        seen[i] = digest_of(paths, *state, others[i]);
        assert_string_not_equal(seen[i], first);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(seen[i], seen[k]);
    }
    for (size_t i = 0; i < countof(others); i++)
        free(seen[i]);
    put(*state, "shipped", "debian.sh", "#!/bin/sh\n# another\n");
    autofree char *recipe = digest_of(paths, *state, same);
    assert_string_not_equal(recipe, first);
}

/* The ones that come along are good, and differ. */
static void shipped_ones_load(void **state)
{
    const char *top = getenv("srcdir");
    struct paths paths = {.config = *state};
    paths.templates = xasprintf("%s/templates", top ? top : ".");
    auto(template) struct template *new = NULL;
    auto(template) struct template *old = NULL;
    assert_ok(template_load(&paths, "debian-13", &new, &err));
    assert_ok(template_load(&paths, "debian-12", &old, &err));
    free(paths.templates);
    assert_string_equal(new->suite, "trixie");
    assert_string_equal(old->suite, "bookworm");
    assert_string_not_equal(new->digest, old->digest);
    assert_string_equal(new->user, "agent");
    assert_null(new->mirror);
    static const char *const needed[] = {"git",  "ca-certificates", "nftables", "sshfs",        "python3",
                                         "curl", "build-essential", "sudo",     "systemd-sysv", "dbus"};
    for (size_t i = 0; i < countof(needed); i++) {
        bool found = false;
        for (size_t k = 0; new->packages[k]; k++)
            found |= !strcmp(new->packages[k], needed[i]);
        if (!found)
            fail_msg("debian-13 has no %s", needed[i]);
    }
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        scratch_test(fields_are_read),
        scratch_test(the_users_file_wins),
        scratch_test(missing_ones_offer_the_nearest),
        scratch_test(bad_values_name_their_place),
        scratch_test(the_digest_covers_the_contents),
        scratch_test(shipped_ones_load),
    };
    return cmocka_run_group_tests_name("template", tests, NULL, NULL);
}
