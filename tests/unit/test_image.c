/* Images without building one: mirrors of apt's configuration, progress of the builder's words, bases on
 * disk. */
#include "test_base_scratch.h"

#include "image/image.h"
#include "image/mirror.h"
#include "image/progress.h"

#include <sys/stat.h>

static void put(const char *folder, const char *name, const char *text)
{
    autofree char *path = file_join(folder, name);
    assert_ok(file_replace(path, text, strlen(text), 0644, &err));
}

/* An apt configuration of one file, in a fresh sub-folder of the test's: the mirrors must be these. */
static void check_apt(const char *scratch, const char *file, const char *text, const char *want_main,
                      const char *want_security)
{
    static int number;
    autofree char *apt = xasprintf("%s/apt-%d", scratch, number++);
    autofree char *parts = file_join(apt, "sources.list.d");
    assert_ok(file_make_folder(parts, 0755, &err));
    put(apt, file, text);
    struct mirrors mirrors = {0};
    if (!want_main) {
        assert_error(mirrors_scan(apt, &mirrors, &err), ERROR_NOT_FOUND, "no source of Debian packages");
        return;
    }
    assert_ok(mirrors_scan(apt, &mirrors, &err));
    assert_string_equal(mirrors.main, want_main);
    if (want_security)
        assert_string_equal(mirrors.security, want_security);
    else
        assert_null(mirrors.security);
    mirrors_finish(&mirrors);
}

static void deb822_sources_are_read(void **state)
{
    check_apt(*state, "sources.list.d/debian.sources",
              "# words\nTypes: deb\nURIs: http://m.test/debian/\nSuites: bookworm bookworm-updates\n"
              "Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
              "Types: deb\nURIs: http://m.test/debian-security\nSuites: bookworm-security\nComponents: main\n"
              "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
              "http://m.test/debian", "http://m.test/debian-security");
    /* Continuation lines, another order, one stanza for both, no newline at the end. */
    check_apt(*state, "sources.list.d/x.sources",
              "types: deb deb-src\nsuites:\n trixie\n trixie-security\ncomponents: contrib\n main\n"
              "signed-by: /etc/keys/debian-archive-trixie.pgp\nuris: https://mirror.test/d",
              "https://mirror.test/d", "https://mirror.test/d");
    check_apt(*state, "sources.list.d/off.sources",
              "Enabled: no\nTypes: deb\nURIs: http://m.test/debian\nSuites: trixie\nComponents: main\n", NULL,
              NULL);
    check_apt(*state, "sources.list.d/src.sources",
              "Types: deb-src\nURIs: http://m.test/debian\nSuites: trixie\nComponents: main\n", NULL, NULL);
}

static void one_line_sources_are_read(void **state)
{
    check_apt(*state, "sources.list",
              "# deb http://no.test/debian x main\n\n"
              "deb [arch=amd64 signed-by=/k/other.gpg] https://vendor.test/debian bookworm main\n"
              "deb http://m.test/debian bookworm main contrib # words\n"
              "deb-src http://src.test/debian bookworm main\n"
              "deb http://m.test/debian bookworm-updates main\n"
              "deb http://sec.test/debian-security bookworm-security main\n",
              "http://m.test/debian", "http://sec.test/debian-security");
    check_apt(*state, "sources.list",
              "deb http://old.test/debian/ buster main\ndeb http://old.test/debian "
              "buster/updates main\n",
              "http://old.test/debian", "http://old.test/debian");
}

/* A vendor's repository is never taken for Debian's, whatever its suite is called. */
static void vendors_are_told_apart(void **state)
{
    check_apt(
        *state, "sources.list",
        "deb [signed-by=/usr/share/keyrings/vendor.gpg] https://apt.test bookworm main\n"
        "deb https://apt.test/repos stable main\n"
        "deb http://archive.test/ubuntu jammy main\ndeb http://archive.test/ubuntu jammy-security main\n"
        "deb https://download.test/linux/debian bookworm stable\n",
        NULL, NULL);
    /* Debian's keyring is a better sign than a path. */
    autofree char *apt = file_join(*state, "both");
    autofree char *parts = file_join(apt, "sources.list.d");
    assert_ok(file_make_folder(parts, 0755, &err));
    put(apt, "sources.list.d/a.list", "deb https://vendor.test/debian stable main\n");
    put(apt, "sources.list.d/b.sources",
        "Types: deb\nURIs: http://m.test/pool\nSuites: trixie\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.pgp\n");
    struct mirrors mirrors = {0};
    assert_ok(mirrors_scan(apt, &mirrors, &err));
    assert_string_equal(mirrors.main, "http://m.test/pool");
    mirrors_finish(&mirrors);
}

/* Cloud images keep their mirrors in a list of its own. */
static void mirror_lists_are_followed(void **state)
{
    autofree char *list = file_join(*state, "debian.list");
    assert_ok(
        file_replace(list, "# first\nhttps://cdn.test/debian\nhttp://other.test/debian\n", 57, 0644, &err));
    autofree char *text = xasprintf("Types: deb\nURIs: mirror+file:%s\nSuites: trixie\nComponents: main\n"
                                    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
                                    list);
    check_apt(*state, "sources.list.d/m.sources", text, "https://cdn.test/debian", NULL);
    check_apt(*state, "sources.list", "deb cdrom:[Debian]/ trixie main\ndeb file:/srv/debian trixie main\n",
              NULL, NULL);
}

static void the_nearest_wish_wins(void **state)
{
    autofree char *apt = file_join(*state, "apt");
    autofree char *none = file_join(*state, "none");
    assert_ok(file_make_folder(apt, 0755, &err));
    put(apt, "sources.list",
        "deb http://host.test/debian x main\ndeb http://host.test/debian-security x-security "
        "main\n");
    struct paths paths = {.config = *state};
    struct template template = {.name = (char *)"t"};
    struct mirrors mirrors = {0};
    assert_ok(mirrors_find(&paths, &template, apt, &mirrors, &err));
    assert_string_equal(mirrors.main, "http://host.test/debian");
    assert_string_equal(mirrors.security, "http://host.test/debian-security");
    mirrors_finish(&mirrors);
    /* Without apt the error says where to write it. */
    auto(error) struct error *err = NULL;
    assert_int_equal(mirrors_find(&paths, &template, none, &mirrors, &err), -ERROR_NOT_FOUND);
    assert_non_null(strstr(err->hint, "\"mirror = http://"));
    assert_non_null(strstr(err->hint, "hutch.ini"));
    put(*state, "hutch.ini", "[image]\nmirror = http://user.test/debian/\nsecurity-mirror = none\n");
    assert_int_equal(mirrors_find(&paths, &template, none, &mirrors, NULL), 0);
    assert_string_equal(mirrors.main, "http://user.test/debian");
    assert_null(mirrors.security);
    mirrors_finish(&mirrors);
    template.mirror = (char *)"http://template.test/debian";
    template.security_mirror = (char *)"http://template.test/security";
    assert_int_equal(mirrors_find(&paths, &template, apt, &mirrors, NULL), 0);
    assert_string_equal(mirrors.main, "http://template.test/debian");
    char **sources = mirrors_sources(&mirrors, "trixie");
    assert_string_equal(sources[0], "deb http://template.test/debian trixie main");
    assert_string_equal(sources[1], "deb http://template.test/debian trixie-updates main");
    assert_string_equal(sources[2], "deb http://template.test/security trixie-security main");
    assert_null(sources[3]);
    for (size_t i = 0; sources[i]; i++)
        free(sources[i]);
    free(sources);
    sources = mirrors_sources(&mirrors, "sid");
    assert_null(sources[1]);
    free(sources[0]);
    free(sources);
    mirrors_finish(&mirrors);
}

static void progress_is_read_from_apt(void **state)
{
    (void)state;
    static const struct {
        const char *line, *phase, *text;
        uint64_t done, total;
    } steps[] = {
        {"I: running apt-get update...", "prepare", "package lists", 0, 0},
        {"Get:4 http://m/debian trixie/main amd64 Packages [9679 kB]", "prepare", "trixie/main", 0, 0},
        {"I: downloading packages with apt...", NULL, NULL, 0, 0},
        {"0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.", NULL, NULL, 0, 0},
        {"Need to get 2.5 MB/25.4 MB of archives.", "core-download", "", 0, 2500000},
        {"Get:1 http://m/debian trixie/main amd64 gcc-14-base amd64 14.2.0-19 [500 kB]", "core-download",
         "gcc-14-base", 500000, 2500000},
        {"Get:2 http://m/debian trixie/main amd64 libc6 amd64 2.41 [2850 kB]", "core-download", "libc6",
         2500000, 2500000},
        {"I: extracting archives...", "core-install", "extracting", 0, 2},
        {"Selecting previously unselected package libc6.", NULL, NULL, 0, 0},
        {"Unpacking libc6:amd64 (2.41-12) ...", "core-install", "unpacking libc6:amd64", 1, 2},
        {"Setting up libc6:amd64 (2.41-12) ...", "core-install", "setting up libc6:amd64", 1, 2},
        {"Unpacking gcc-14-base:amd64 (14.2.0-19) ...", "core-install", "unpacking gcc-14-base:amd64", 2, 2},
        {"Setting up gcc-14-base:amd64 (14.2.0-19) ...", "core-install", "setting up gcc-14-base:amd64", 2,
         2},
        {"Setting up gcc-14-base:amd64 (14.2.0-19) ...", "core-install", "setting up gcc-14-base:amd64", 2,
         2},
        {"I: installing remaining packages inside the chroot...", NULL, NULL, 0, 0},
        {"hutch: setup \x1b[2Jtool", "setup", "setup ?[2Jtool", 0, 0},
        {"0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded.", NULL, NULL, 0, 0},
        {"Need to get 3 kB of archives.", "download", "", 0, 3000},
        {"Get:1 http://m/debian trixie/main amd64 git amd64 2.41 [3 kB]", "download", "git", 3000, 3000},
        {"0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded.", NULL, NULL, 0, 0},
        {"Need to get 0 B/3 kB of archives.", NULL, NULL, 0, 0},
        {"Setting up \x1b[2J (1) ...", "install", "setting up ", 1, 3},
        {"Need to get nonsense", NULL, NULL, 0, 0},
    };
    struct progress progress = {0};
    for (size_t i = 0; i < countof(steps); i++) {
        bool changed = progress_line(&progress, steps[i].line);
        assert_int_equal(changed, steps[i].phase != NULL);
        if (!changed)
            continue;
        assert_string_equal(progress.phase, steps[i].phase);
        assert_string_equal(progress.text, steps[i].text);
        assert_true(progress.done == steps[i].done && progress.total == steps[i].total);
    }
    char line[1000];
    memset(line, 'x', sizeof(line));
    memcpy(line, "Unpacking ", 10);
    line[sizeof(line) - 1] = '\0';
    assert_true(progress_line(&progress, line));
    assert_int_equal(strlen(progress.text), PROGRESS_TEXT_MAX - 1);
}

static void failures_are_known(void **state)
{
    (void)state;
    assert_int_equal(progress_failure("Err:1 http://m trixie InRelease Temporary failure resolving 'm'"),
                     PROGRESS_NETWORK);
    assert_int_equal(progress_failure("E: The repository 'x' does not have a Release file."),
                     PROGRESS_NETWORK);
    assert_int_equal(progress_failure("dpkg: error: cannot write: No space left on device"),
                     PROGRESS_NO_SPACE);
    assert_int_equal(progress_failure("the following signatures ... NO_PUBKEY 1234"), PROGRESS_KEY);
    assert_int_equal(progress_failure("E: Unable to locate package gti"), PROGRESS_PACKAGE);
    assert_int_equal(progress_failure("Unpacking git ..."), PROGRESS_OTHER);
}

static const char digest_a[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const char digest_b[] = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#define BASE_INI                                                                                             \
    "[base]\ntemplate = t\nkernel-version = 6\nvirtual-size = 1\nbuilt-ns = 1\n"                             \
    "digest = 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"

/* A base's folder with its four files. */
static void make_base(const char *data, const char *digest)
{
    autofree char *folder = xasprintf("%s/bases/%s", data, digest);
    assert_ok(file_make_folder(folder, 0755, &err));
    put(folder, "disk.qcow2", "d");
    put(folder, "kernel", "k");
    put(folder, "initrd", "i");
    struct package_host hosts[] = {
        {"debian", false, "m.test", 80}, {"node", true, "npm.test", 8443}, {"debian", true, "sec.test", 443}};
    struct base base = {
        .template_name = (char *)"t-1",
        .kernel_version = (char *)"6.12.1+deb13-cloud-amd64",
        .virtual_size = 8ULL << 30,
        .built_ns = 1795985318000000001,
        .package_hosts = hosts,
        .package_host_count = countof(hosts),
    };
    memcpy(base.digest, digest, sizeof(base.digest));
    assert_ok(base_write(&base, folder, &err));
}

static void bases_are_found_again(void **state)
{
    struct paths paths = {.data = *state};
    auto(base) struct base *base = NULL;
    assert_error(base_find(&paths, digest_a, &base, &err), ERROR_NOT_FOUND, "no base \"001122334455\"");
    assert_error(base_find(&paths, "../x", &base, &err), ERROR_INVALID, "no base's digest");
    make_base(*state, digest_a);
    assert_ok(base_find(&paths, digest_a, &base, &err));
    assert_string_equal(base->digest, digest_a);
    assert_string_equal(base->template_name, "t-1");
    assert_string_equal(base->kernel_version, "6.12.1+deb13-cloud-amd64");
    assert_true(base->virtual_size == 8ULL << 30);
    assert_true(base->built_ns == 1795985318000000001);
    assert_true(base->size > 0);
    assert_int_equal(base->package_host_count, 3);
    assert_string_equal(base->package_hosts[1].host, "sec.test");
    assert_string_equal(base->package_hosts[1].preset, "debian");
    assert_true(base->package_hosts[1].tls);
    assert_int_equal(base->package_hosts[2].port, 8443);
    autofree char *disk = xasprintf("%s/bases/%s/disk.qcow2", (char *)*state, digest_a);
    assert_string_equal(base->disk, disk);
}

static void damage_is_named(void **state)
{
    struct paths paths = {.data = *state};
    struct base *base = NULL;
    make_base(*state, digest_a);
    autofree char *folder = xasprintf("%s/bases/%s", (char *)*state, digest_a);
    autofree char *initrd = file_join(folder, "initrd");
    assert_int_equal(unlink(initrd), 0);
    assert_error(base_find(&paths, digest_a, &base, &err), ERROR_CORRUPT, "initrd\" is missing");
    put(folder, "initrd", "i");
    static const char *const texts[] = {
        "[base]\ntemplate = t\n",
        "[base]\nvirtual-size = x\nbuilt-ns = 1\n",
        "[base]\ntemplate = t\nkernel-version = 6\nvirtual-size = 1\nbuilt-ns = 1\ndigest = f\n",
        "",
        BASE_INI "[packages debian]\nhosts =\n    http m.test\n",
        BASE_INI "[packages debian]\nhosts =\n    http m.test 80 private=10.0.0.0/8\n",
        BASE_INI "[packages debian]\nhosts =\n    http m.test 0\n",
        BASE_INI "[packages debian]\nservers =\n    http m.test 80\n",
    };
    put(folder, "base.ini", BASE_INI);
    assert_ok(base_find(&paths, digest_a, &base, &err));
    assert_null(base->package_hosts);
    base_free(steal(&base));
    for (size_t i = 0; i < countof(texts); i++) {
        put(folder, "base.ini", texts[i]);
        assert_error(base_find(&paths, digest_a, &base, &err), ERROR_CORRUPT, "is damaged");
        assert_null(base);
    }
}

static void bases_are_listed_and_removed(void **state)
{
    struct paths paths = {.data = *state};
    struct base **bases = NULL;
    size_t count = 9;
    assert_ok(base_list(&paths, &bases, &count, &err));
    assert_int_equal(count, 0);
    free(bases);
    make_base(*state, digest_b);
    make_base(*state, digest_a);
    autofree char *other = xasprintf("%s/bases/.build-1234", (char *)*state);
    assert_ok(file_make_folder(other, 0755, &err));
    assert_ok(base_list(&paths, &bases, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(bases[0]->digest, digest_a);
    assert_string_equal(bases[1]->digest, digest_b);
    for (size_t i = 0; i < count; i++)
        base_free(bases[i]);
    free(bases);
    assert_ok(base_remove(&paths, digest_a, &err));
    assert_error(base_remove(&paths, digest_a, &err), ERROR_NOT_FOUND, "no base");
    assert_error(base_remove(&paths, ".build-1234", &err), ERROR_INVALID, "digest");
    struct base *base = NULL;
    assert_int_equal(base_find(&paths, digest_a, &base, NULL), -ERROR_NOT_FOUND);
    assert_ok(base_find(&paths, digest_b, &base, &err));
    base_free(base);
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        scratch_test(deb822_sources_are_read), scratch_test(one_line_sources_are_read),
        scratch_test(vendors_are_told_apart),  scratch_test(mirror_lists_are_followed),
        scratch_test(the_nearest_wish_wins),   cmocka_unit_test(progress_is_read_from_apt),
        cmocka_unit_test(failures_are_known),  scratch_test(bases_are_found_again),
        scratch_test(damage_is_named),         scratch_test(bases_are_listed_and_removed),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
