/* Where repositories come from, the mirror, and the push by the confined child, with real git in a folder of
 * its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "repo/git.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

static char folder[] = "/tmp/test-repo-XXXXXX";

/* Runs a shell line in the test's folder; the tests' own words only. */
static char *sh(const char *line)
{
    const char *argv[] = {"sh", "-ec", line, NULL};
    struct spawn spawn = {.argv = argv, .cwd = folder, .in = -1, .out = -1, .err = -1};
    struct error *err = NULL;
    char *out = NULL;
    if (spawn_run(&spawn, 30000, 65536, &out, &err) < 0)
        fail_msg("%s: %s", line, err->message);
    out[strcspn(out, "\n")] = '\0';
    return out;
}

static int make_folder(void **state)
{
    alarm(120);
    assert_non_null(mkdtemp(folder));
    setenv("HOME", folder, 1);
    setenv("HUTCH_HOME", folder, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    free(sh("git config --global user.name T; git config --global user.email t@localhost;"
            "git config --global init.defaultBranch main; git config --global --add safe.directory '*'"));
    free(sh("mkdir app; cd app; git init -q; echo 1 >a; git add a; git commit -qm one; git tag v1; git "
            "branch side;"
            "echo 2 >a; git commit -qam two; git remote add origin https://user:key@example.org/app.git"));
    return 0;
}

static int remove_folder(void **state)
{
    return file_remove_tree(folder, NULL);
}

static struct repo_source *parse(const char *spec)
{
    struct repo_source *source = NULL;
    struct error *err = NULL;
    if (repo_source_parse(spec, &source, &err) < 0)
        fail_msg("%s: %s", spec, err->message);
    return source;
}

static void refuses(const char *spec, enum error_code code)
{
    struct repo_source *source = NULL;
    auto(error) struct error *err = NULL;
    assert_int_equal(repo_source_parse(spec, &source, &err), -(int)code);
    assert_null(source);
    assert_true(strlen(err->message) > 10);
}

static void source_forms(void **state)
{
    struct repo_source *source = parse("https://example.org/x/My_Shop.git#v2");
    assert_string_equal(source->name, "my-shop");
    assert_string_equal(source->url, "https://example.org/x/My_Shop.git");
    assert_string_equal(source->ref, "v2");
    assert_false(source->local);
    repo_source_free(source);
    source = parse("git@example.org:team/api.git");
    assert_string_equal(source->name, "api");
    assert_null(source->ref);
    repo_source_free(source);

    refuses("", ERROR_INVALID);
    refuses("--upload-pack=touch /tmp/x", ERROR_INVALID);
    refuses("ext::sh -c id", ERROR_INVALID);
    refuses("fd::3", ERROR_INVALID);
    refuses("https://example.org/a\nb", ERROR_INVALID);
    refuses("https://example.org/a.git#-x", ERROR_INVALID);
    refuses("https://example.org/a.git#a b", ERROR_INVALID);
    refuses("/no/such/folder", ERROR_NOT_FOUND);
    refuses("nowhere", ERROR_NOT_FOUND);
    refuses("/usr", ERROR_NOT_FOUND);
}

static void source_of_a_folder(void **state)
{
    autofree char *path = xasprintf("%s/app", folder);
    autofree char *sub = xasprintf("%s/app/.git", folder);
    struct repo_source *source = parse(path);
    assert_true(source->local);
    assert_string_equal(source->url, path);
    assert_string_equal(source->ref, "main");
    /* a key in the user's own remote never gets near a guest */
    assert_string_equal(source->remote, "https://example.org/app.git");
    repo_source_free(source);
    source = parse(sub);
    assert_string_equal(source->name, "app");
    repo_source_free(source);

    free(sh("git -C app worktree add -q ../tree side"));
    autofree char *tree = xasprintf("%s/tree", folder);
    source = parse(tree);
    assert_string_equal(source->ref, "side");
    repo_source_free(source);

    free(sh("git clone -q --depth 1 \"file://$PWD/app\" shallow"));
    autofree char *shallow = xasprintf("%s/shallow", folder);
    refuses(shallow, ERROR_INVALID);
}

/* Pushes through a socket pair to a real git-receive-pack, as the guest has it. */
static int push_to(const char *mirror, const char *commit, const char *bare, struct error **err)
{
    struct paths *paths = NULL;
    int pair[2], status;
    pid_t pid;
    autofree char *target = xasprintf("%s/%s", folder, bare);
    const char *argv[] = {"git", "receive-pack", target, NULL};

    assert_int_equal(paths_find(&paths, err), 0);
    free(paths->programs);
    paths->programs = xstrdup(getenv("PROGRAMS") ? getenv("PROGRAMS") : ".");
    assert_int_equal(fd_socketpair(SOCK_STREAM, false, pair, err), 0);
    struct spawn spawn = {.argv = argv, .in = pair[1], .out = pair[1], .err = 2};
    assert_int_equal(spawn_start(&spawn, &pid, err), 0);
    close(pair[1]);
    int rc = repo_push(paths, mirror, commit, pair[0], NULL, NULL, NULL, err);
    close(pair[0]);
    spawn_wait(pid, &status, NULL);
    paths_free(paths);
    return rc;
}

static char *mirror_of(const char *spec, struct repo_source **ret_source)
{
    struct paths *paths = NULL;
    struct error *err = NULL;
    char *mirror = NULL;
    assert_int_equal(paths_find(&paths, &err), 0);
    *ret_source = parse(spec);
    if (repo_mirror(paths, *ret_source, NULL, NULL, NULL, &mirror, &err) < 0)
        fail_msg("%s: %s", spec, err->message);
    paths_free(paths);
    return mirror;
}

static void mirror_and_push(void **state)
{
    struct error *err = NULL;
    struct repo_source *source;
    autofree char *path = xasprintf("%s/app", folder);
    autofree char *mirror = mirror_of(path, &source);
    autofree char *ref = NULL;
    autofree char *commit = NULL;
    autofree char *want = sh("git -C app rev-parse main");

    assert_int_equal(repo_resolve(mirror, source->ref, &ref, &commit, &err), 0);
    assert_string_equal(ref, "refs/heads/main");
    assert_string_equal(commit, want);
    assert_false(repo_has_submodules(mirror, commit));
    free(sh("git init -q --bare guest.git"));
    if (push_to(mirror, commit, "guest.git", &err) < 0)
        fail_msg("push: %s", err->message);
    autofree char *got = sh("git -C guest.git rev-parse main");
    assert_string_equal(got, want);
    autofree char *tag = sh("git -C guest.git rev-parse v1");
    autofree char *tag_want = sh("git -C app rev-parse v1");
    assert_string_equal(tag, tag_want);
    repo_source_free(source);
}

/* A mirror, and a push of it into a bare repository as the machine has one; its main. Caller frees. */
static char *bring(const char *name, const char *format, char **ret_mirror)
{
    autofree char *path = xasprintf("%s/%s", folder, name);
    autofree char *ref = NULL, *commit = NULL;
    struct repo_source *source;
    struct error *err = NULL;
    autofree char *mirror = mirror_of(path, &source);

    assert_int_equal(repo_resolve(mirror, source->ref, &ref, &commit, &err), 0);
    repo_source_free(source);
    autofree char *make = xasprintf("rm -rf in.git; git init -q --bare --object-format=%s in.git", format);
    free(sh(make));
    if (push_to(mirror, commit, "in.git", &err) < 0)
        fail_msg("%s: %s", name, err->message);
    autofree char *look = xasprintf("git -C in.git cat-file -e %s; git -C in.git rev-parse %s", commit, ref);
    if (ret_mirror)
        *ret_mirror = steal(&mirror);
    return sh(look);
}

static void unusual_repositories(void **state)
{
    autofree char *want = sh("git -C app rev-parse main");
    autofree char *mirror = NULL;

    free(sh("git clone -q --bare app bare.git"));
    autofree char *bare = bring("bare.git", "sha1", NULL);
    assert_string_equal(bare, want);

    free(sh("git clone -q app dirty; cd dirty; echo changed >a; echo new >new; git rm -q --cached a; git "
            "status --porcelain >../dirty.before"));
    autofree char *dirty = bring("dirty", "sha1", NULL);
    assert_string_equal(dirty, want);
    free(sh(
        "cd dirty; git status --porcelain | cmp - ../dirty.before; ! git -C ../in.git cat-file -e main:new"));

    free(sh(
        "git -C app worktree add -q ../linked -b linked; cd linked; echo l >l; git add l; git commit -qm l"));
    autofree char *linked = bring("linked", "sha1", NULL);
    autofree char *linked_want = sh("git -C linked rev-parse HEAD");
    assert_string_equal(linked, linked_want);

    /* names of files are bytes; a branch whose name is none stays out, and costs itself only */
    free(
        sh("git init -q bytes; cd bytes; f=$(printf 'a\\377b'); echo x >\"$f\"; git add -A; git commit -qm x;"
           "git update-ref \"refs/heads/caf$(printf '\\351')\" HEAD; git branch good"));
    autofree char *bytes = bring("bytes", "sha1", NULL);
    autofree char *bytes_want = sh("git -C bytes rev-parse HEAD");
    assert_string_equal(bytes, bytes_want);
    free(sh("git -C in.git ls-tree -z main | grep -q \"$(printf 'a\\377b')\""));
    autofree char *names = sh("git -C in.git for-each-ref --format='%(refname)' refs/heads | tr '\\n' ' '");
    assert_string_equal(names, "refs/heads/good refs/heads/main ");

    free(sh("git init -q --object-format=sha256 long; cd long; echo x >x; git add x; git commit -qm x"));
    autofree char *sha256 = bring("long", "sha256", &mirror);
    autofree char *sha256_want = sh("git -C long rev-parse HEAD");
    assert_string_equal(sha256, sha256_want);
    assert_int_equal(strlen(sha256), 64);
}

static void resolve_forms(void **state)
{
    auto(error) struct error *err = NULL;
    struct repo_source *source;
    autofree char *path = xasprintf("%s/app", folder);
    autofree char *mirror = mirror_of(path, &source);
    autofree char *first = sh("git -C app rev-parse v1");
    const struct {
        const char *ref, *full;
    } cases[] = {{"v1", "refs/tags/v1"}, {"side", "refs/heads/side"}, {first, ""}};

    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *ref = NULL;
        autofree char *commit = NULL;
        assert_int_equal(repo_resolve(mirror, cases[i].ref, &ref, &commit, &err), 0);
        assert_string_equal(ref, cases[i].full);
        assert_string_equal(commit, first);
    }
    char *ref = NULL, *commit = NULL;
    assert_int_equal(repo_resolve(mirror, "no-such", &ref, &commit, &err), -ERROR_NOT_FOUND);
    assert_non_null(strstr(err->message, "no-such"));
    repo_source_free(source);
}

static void empty_and_vanishing(void **state)
{
    auto(error) struct error *err = NULL;
    struct repo_source *source;
    autofree char *path = xasprintf("%s/void", folder);
    free(sh("git init -q void"));
    autofree char *mirror = mirror_of(path, &source);
    autofree char *ref = NULL;
    autofree char *commit = NULL;
    assert_string_equal(source->ref, "main"); /* the branch that has no commit yet */
    assert_int_equal(repo_resolve(mirror, source->ref, &ref, &commit, &err), 0);
    assert_string_equal(commit, "");
    assert_string_equal(ref, "refs/heads/main");
    free(sh("git init -q --bare void.git"));
    assert_int_equal(push_to(mirror, "", "void.git", &err), 0);
    repo_source_free(source);

    /* a branch that is gone over there is gone in the mirror */
    autofree char *app = xasprintf("%s/app", folder);
    free(sh("git -C app branch passing"));
    autofree char *again = mirror_of(app, &source);
    repo_source_free(source);
    free(sh("git -C app branch -D passing"));
    free(mirror_of(app, &source));
    char *gone = NULL, *none = NULL;
    assert_int_equal(repo_resolve(again, "passing", &gone, &none, NULL), -ERROR_NOT_FOUND);
    repo_source_free(source);
}

static void child_reaches_nothing_else(void **state)
{
    /* hutch-git may read the mirror and nothing beside it: a "mirror" that leads elsewhere is not followed */
    auto(error) struct error *err = NULL;
    free(sh("mkdir trap; cp -r app/.git trap/m.git; git -C trap/m.git config core.bare true; rm -rf "
            "trap/m.git/objects;"
            "ln -s ../../app/.git/objects trap/m.git/objects; git init -q --bare trap.git"));
    autofree char *mirror = xasprintf("%s/trap/m.git", folder);
    autofree char *commit = sh("git -C app rev-parse main");
    assert_true(push_to(mirror, commit, "trap.git", &err) < 0);
    autofree char *refs = sh("git -C trap.git for-each-ref | wc -l");
    assert_string_equal(refs, "0");
}

static void large_files_are_seen(void **state)
{
    free(sh("mkdir lfs; cd lfs; git init -q; echo 1 >a; git add a; git commit -qm one; mkdir sub;"
            "echo '*.bin filter=lfs diff=lfs' >sub/.gitattributes; git add sub; git commit -qm two"));
    autofree char *with = sh("git -C lfs rev-parse HEAD"), *without = sh("git -C lfs rev-parse HEAD~1"),
                  *path = xasprintf("%s/lfs/.git", folder);
    assert_true(repo_has_lfs(path, with));
    assert_false(repo_has_lfs(path, without));
    assert_false(repo_has_lfs(path, ""));
}

static void progress_lines(void **state)
{
    uint64_t done, total, bytes;
    assert_true(git_parse_progress("Receiving objects:  45% (450/1000), 12.50 MiB | 3.00 MiB/s", &done,
                                   &total, &bytes));
    assert_int_equal(done, 450);
    assert_int_equal(total, 1000);
    assert_int_equal(bytes, 12 * 1024 * 1024 + 512 * 1024);
    assert_false(git_parse_progress("fatal: no", &done, &total, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_forms),
        cmocka_unit_test(source_of_a_folder),
        cmocka_unit_test(mirror_and_push),
        cmocka_unit_test(unusual_repositories),
        cmocka_unit_test(resolve_forms),
        cmocka_unit_test(empty_and_vanishing),
        cmocka_unit_test(child_reaches_nothing_else),
        cmocka_unit_test(large_files_are_seen),
        cmocka_unit_test(progress_lines),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
