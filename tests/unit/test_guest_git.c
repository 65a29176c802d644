/* Code into a machine: the bare repository, a push through the stream, the work tree, and fetch and push
 * inside. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent_rig.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "wire/pump.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_LIMIT 300 /* s */

static struct rig rig;
static char *source; /* a repository of the host's */

/* git with fixed people and no configuration of the machine that the test runs on; NULL-ended. Output caller
 * frees. */
static char *git(const char *folder, ...)
{
    const char *argv[32] = {
        "git", "-C", folder, "-c", "user.name=T", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"};
    size_t n = 9;
    va_list args;
    struct error *err = NULL;
    char *out = NULL;

    va_start(args, folder);
    while ((argv[n] = va_arg(args, const char *)))
        n++;
    va_end(args);
    const struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    if (spawn_run(&spawn, 60000, 1 << 20, &out, &err))
        fail_msg("%s", err->message);
    out[strcspn(out, "\n")] = '\0';
    return out;
}

static void commit(const char *file, const char *text)
{
    autofree char *path = xasprintf("%s/%s", source, file);
    assert_int_equal(file_replace(path, text, strlen(text), 0644, NULL), 0);
    free(git(source, "add", "-A", NULL));
    free(git(source, "commit", "-q", "-m", file, NULL));
}

static int setup(void **state)
{
    alarm(TEST_LIMIT);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    rig_start(&rig);
    source = xasprintf("%s/source", rig.folder);
    mkdir(source, 0755);
    free(git(source, "init", "-q", NULL));
    commit("one", "1\n");
    free(git(source, "tag", "v1", NULL));
    commit("two", "2\n");
    free(git(source, "branch", "side", "v1", NULL));
    return 0;
}

static int teardown(void **state)
{
    rig_stop(&rig);
    free(source);
    return 0;
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static json_t *prepare(const char *name)
{
    autofree char *path = xasprintf("/v1/git/%s", name);
    json_t *o = NULL;
    assert_int_equal(rig_call(&rig, "POST", path, json_pack("{s:s}", "head", "refs/heads/main"), &o), 200);
    return o;
}

static void on_pumped(struct pump *pump, enum pump_end end, const struct error *err, void *user)
{
    *(bool *)user = true;
}

/* `git push fd::3` of everything through POST …/receive-pack, as the host does it. */
static void push(const char *name, const char *refspec)
{
    const char *const argv[] = {"git", "-C", source, "push", "-q", "fd::3", refspec, NULL};
    autofree char *path = xasprintf("/v1/git/%s/receive-pack", name);
    struct rig_stream s;
    struct pump *pump;
    int pair[2], status;
    pid_t pid;
    bool done = false;

    assert_int_equal(fd_socketpair(SOCK_STREAM, false, pair, NULL), 0);
    const struct spawn spawn = {
        .argv = argv, .in = -1, .out = -1, .err = 2, .keep = {pair[1]}, .keep_count = 1};
    assert_int_equal(spawn_start(&spawn, &pid, NULL), 0);
    close(pair[1]);
    rig_open(&rig, &s, "POST", path, true);
    const struct pump_options options = {
        .fd_in = pair[0], .fd_out = pair[0], .own_fds = true, .on_done = on_pumped};
    assert_int_equal(pump_create(&rig.loop, s.stream, &options, &done, &pump, NULL), 0);
    rig_until(&rig, &done);
    s.stream = NULL;
    rig_stream_free(&s);
    assert_int_equal(spawn_wait(pid, &status, NULL), 0);
    assert_int_equal(status, 0);
}

static int checkout(const char *name, json_t *body, json_t **ret)
{
    autofree char *path = xasprintf("/v1/git/%s/checkout", name);
    return rig_call(&rig, "POST", path, body, ret);
}

static char *target(const char *name)
{
    return xasprintf("%s/work/%s", rig.folder, name);
}

static void a_repository_arrives(void **state)
{
    autofree char *tree = target("demo"), *head = git(source, "rev-parse", "main", NULL);
    auto(json) json_t *made = prepare("demo"), *again = NULL, *out = NULL, *same = NULL;

    assert_true(json_is_true(json_object_get(made, "empty")));
    assert_string_equal(text(made, "head"), "refs/heads/main");
    push("demo", "refs/*:refs/*");
    again = prepare("demo");
    assert_false(json_is_true(json_object_get(again, "empty")));
    assert_string_equal(text(again, "commit"), head);

    assert_int_equal(
        checkout("demo", json_pack("{s:s, s:s}", "target", tree, "url", "--ssh://git@host/x.git"), &out),
        200);
    assert_string_equal(text(out, "path"), tree);
    assert_string_equal(text(out, "head"), "refs/heads/main");
    assert_string_equal(text(out, "commit"), head);
    autofree char *status = git(tree, "status", "--porcelain=v2", "--branch", NULL);
    assert_non_null(status);
    autofree char *dirty = git(tree, "status", "--porcelain", NULL);
    assert_string_equal(dirty, "");
    autofree char *upstream = git(tree, "rev-parse", "--abbrev-ref", "main@{upstream}", NULL);
    assert_string_equal(upstream, "origin/main");
    autofree char *url = git(tree, "config", "remote.origin.url", NULL);
    assert_string_equal(url, "hutch::demo");
    autofree char *real = git(tree, "config", "remote.origin.hutchurl", NULL);
    assert_string_equal(real, "--ssh://git@host/x.git");
    /* again: the same, and nothing of the user's work is touched */
    autofree char *file = xasprintf("%s/one", tree);
    assert_int_equal(file_replace(file, "changed", 7, 0644, NULL), 0);
    assert_int_equal(checkout("demo", json_pack("{s:s}", "target", tree), &same), 200);
    autofree char *kept = NULL;
    file_read(file, 100, &kept, NULL, NULL);
    assert_string_equal(kept, "changed");
}

static void a_branch_a_tag_a_commit(void **state)
{
    autofree char *v1 = git(source, "rev-parse", "v1", NULL),
                  *main_tip = git(source, "rev-parse", "main", NULL);
    autofree char *a = target("branch"), *b = target("tag"), *c = target("commit"), *d = target("none");
    auto(json) json_t *branch = NULL, *tag = NULL, *at = NULL;

    json_decref(prepare("demo"));
    push("demo", "refs/*:refs/*");
    assert_int_equal(
        checkout("demo", json_pack("{s:s, s:s}", "target", a, "ref", "refs/heads/side"), &branch), 200);
    assert_string_equal(text(branch, "head"), "refs/heads/side");
    assert_string_equal(text(branch, "commit"), v1);
    autofree char *upstream = git(a, "rev-parse", "--abbrev-ref", "side@{upstream}", NULL);
    assert_string_equal(upstream, "origin/side");
    assert_int_equal(checkout("demo", json_pack("{s:s, s:s}", "target", b, "ref", "refs/tags/v1"), &tag),
                     200);
    assert_string_equal(text(tag, "head"), "");
    assert_string_equal(text(tag, "commit"), v1);
    assert_int_equal(checkout("demo", json_pack("{s:s, s:s}", "target", c, "commit", main_tip), &at), 200);
    assert_string_equal(text(at, "commit"), main_tip);
    assert_string_equal(text(at, "head"), "");
    autofree char *two = xasprintf("%s/two", c);
    assert_true(file_exists(two));

    auto(json) json_t *missing = NULL, *bad = NULL, *taken = NULL;
    assert_int_equal(
        checkout("demo", json_pack("{s:s, s:s}", "target", d, "ref", "refs/heads/nothing"), &missing), 500);
    assert_false(file_exists(d));
    assert_int_equal(checkout("demo", json_pack("{s:s, s:s}", "target", d, "ref", "--upload-pack=x"), &bad),
                     422);
    mkdir(d, 0755);
    autofree char *occupied = xasprintf("%s/file", d);
    assert_int_equal(file_replace(occupied, "", 0, 0644, NULL), 0);
    assert_int_equal(checkout("demo", json_pack("{s:s}", "target", d), &taken), 409);
    assert_string_equal(rig_error_code(taken), "exists");
    assert_true(file_exists(occupied));
    assert_int_equal(checkout("other", json_pack("{s:s}", "target", d), NULL), 404);
    assert_int_equal(rig_call(&rig, "POST", "/v1/git/..%2Fx", json_object(), NULL), 422);
}

static void an_empty_repository_can_be_filled(void **state)
{
    autofree char *tree = target("empty");
    auto(json) json_t *out = NULL;

    json_decref(prepare("empty"));
    assert_int_equal(checkout("empty", json_pack("{s:s}", "target", tree), &out), 200);
    assert_true(json_is_true(json_object_get(out, "empty")));
    assert_string_equal(text(out, "head"), "refs/heads/main");
    autofree char *merge = git(tree, "config", "branch.main.merge", NULL);
    assert_string_equal(merge, "refs/heads/main");
}

/* What a program in a session does: fetch what the host pushed, commit, push back. */
static void fetch_and_push_work_inside(void **state)
{
    autofree char *tree = target("demo");
    char id[40];
    static const char script[] =
        "set -e; git fetch -q; git merge -q --ff-only; cat three; echo 4 > four; git add four;"
        "git -c user.name=A -c user.email=a@a commit -q -m four; git push -q; git push -q origin HEAD:new";

    json_decref(prepare("demo"));
    push("demo", "refs/*:refs/*");
    assert_int_equal(checkout("demo", json_pack("{s:s}", "target", tree), NULL), 200);
    commit("three", "3\n");
    push("demo", "refs/heads/main:refs/heads/main");
    rig_exec(&rig, id, json_pack("{s:s}", "cwd", tree), "sh", "-c", script, NULL);
    auto(json) json_t *end = rig_wait_session(&rig, id);
    autofree char *errors = xasprintf("/v1/sessions/%s/stderr", id),
                  *output = xasprintf("/v1/sessions/%s/stdout", id);
    autofree char *said = rig_get(&rig, errors), *printed = rig_get(&rig, output);
    /* nobody answers for the host here: what was pushed stays, and that is said, once a push */
    assert_int_equal(strncmp(said, "remote: hutch could not be told", 31), 0);
    assert_null(strstr(said, "refreshed"));
    assert_string_equal(printed, "3\n");
    assert_int_equal(json_integer_value(json_object_get(end, "exit_status")), 0);
    autofree char *bare = xasprintf("%s/state/git/demo.git", rig.folder);
    autofree char *subject = git(bare, "log", "-1", "--format=%s", "main", NULL),
                  *new_one = git(bare, "log", "-1", "--format=%s", "new", NULL);
    assert_string_equal(subject, "four");
    assert_string_equal(new_one, "four");
}

/* A pack that is cut leaves the repository as it was. */
static void a_cut_push_changes_nothing(void **state)
{
    struct rig_stream s;
    autofree char *bare = xasprintf("%s/state/git/demo.git", rig.folder);

    json_decref(prepare("demo"));
    rig_open(&rig, &s, "POST", "/v1/git/demo/receive-pack", true);
    rig_stream_until(&s, 4);
    rig_stream_write(&s, "00a0", 4);
    rig_stream_end(&s);
    rig_stream_finish(&s);
    assert_false(s.ended);
    rig_stream_free(&s);
    autofree char *refs = git(bare, "for-each-ref", NULL);
    assert_string_equal(refs, "");
    push("demo", "refs/*:refs/*");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_repository_arrives),
        TEST(a_branch_a_tag_a_commit),
        TEST(an_empty_repository_can_be_filled),
        TEST(fetch_and_push_work_inside),
        TEST(a_cut_push_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
