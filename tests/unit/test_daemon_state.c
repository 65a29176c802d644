/* state.db: what is recorded comes back, also after a kill; schemas of other versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "daemon/state_requests.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test-state-XXXXXX";
static char *path;

static int setup(void **unused)
{
    (void)unused;
    alarm(60);
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    path = file_join(folder, "state.db");
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    file_remove_tree(folder, NULL);
    free(path);
    return 0;
}

/* A record with every field set. */
static void make(struct record *r, const char *id, const char *name)
{
    *r = (struct record){
        .folder = xstrdup("/home/u/shop"),
        .template = xstrdup("debian-13"),
        .user = xstrdup("agent"),
        .cpu_model = xstrdup("max"),
        .cpus = 3,
        .memory = 5ULL << 30,
        .disk = 64ULL << 30,
        .created_ns = 1234567890123456789,
        .made = true,
        .step = STEP_SUSPEND_SAVE,
        .saved = true,
        .frozen_boot = "0123456789abcdef",
        .frozen_for = 31,
        .stored_for = 31,
        .failure = xstrdup("why"),
    };
    snprintf(r->id, sizeof(r->id), "%s", id);
    snprintf(r->uuid, sizeof(r->uuid), "uuid-%s", id);
    snprintf(r->name, sizeof(r->name), "%s", name);
    snprintf(r->base, sizeof(r->base), "%064d", 7);
    snprintf(r->boot, sizeof(r->boot), "0123456789abcdef");
    r->repos = xnewn(struct repo_row, 2);
    r->repos[0] = (struct repo_row){
        .name = xstrdup("app"), .spec = xstrdup("/src/app#main"), .target = xstrdup("/home/agent/app")};
    r->repos[1] = (struct repo_row){
        .name = xstrdup("lib"),
        .spec = xstrdup("https://git.example/lib"),
        .remote = xstrdup("https://git.example/lib"),
        .ref = xstrdup("refs/heads/main"),
        .commit = xstrdup(""),
        .target = xstrdup("/home/agent/lib"),
        .done = true,
    };
    r->repo_count = 2;
}

struct loaded {
    struct record r[8];
    size_t count;
};

static void keep(const struct record *r, void *user)
{
    struct loaded *loaded = user;

    assert_true(loaded->count < countof(loaded->r));
    record_copy(&loaded->r[loaded->count++], r);
}

static void load(struct state *state, struct loaded *loaded)
{
    *loaded = (struct loaded){0};
    assert_int_equal(state_load(state, keep, loaded, NULL), 0);
}

static void drop(struct loaded *loaded)
{
    for (size_t i = 0; i < loaded->count; i++)
        record_finish(&loaded->r[i]);
}

static void assert_same_text(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_true(!a && !b);
}

static void assert_same(const struct record *a, const struct record *b)
{
    assert_string_equal(a->id, b->id);
    assert_string_equal(a->uuid, b->uuid);
    assert_string_equal(a->name, b->name);
    assert_same_text(a->folder, b->folder);
    assert_same_text(a->template, b->template);
    assert_string_equal(a->base, b->base);
    assert_same_text(a->user, b->user);
    assert_same_text(a->cpu_model, b->cpu_model);
    assert_same_text(a->kernel_options, b->kernel_options);
    assert_int_equal(a->cpus, b->cpus);
    assert_true(a->memory == b->memory && a->disk == b->disk && a->created_ns == b->created_ns);
    assert_true(a->made == b->made && a->saved == b->saved);
    assert_int_equal(a->step, b->step);
    assert_string_equal(a->boot, b->boot);
    assert_same_text(a->failure, b->failure);
    assert_int_equal(a->repo_count, b->repo_count);
    for (size_t i = 0; i < a->repo_count; i++) {
        assert_same_text(a->repos[i].name, b->repos[i].name);
        assert_same_text(a->repos[i].spec, b->repos[i].spec);
        assert_same_text(a->repos[i].remote, b->repos[i].remote);
        assert_same_text(a->repos[i].ref, b->repos[i].ref);
        assert_same_text(a->repos[i].commit, b->repos[i].commit);
        assert_same_text(a->repos[i].target, b->repos[i].target);
        assert_int_equal(a->repos[i].done, b->repos[i].done);
        assert_string_equal(a->frozen_boot, b->frozen_boot);
        assert_int_equal(a->frozen_for, b->frozen_for);
        assert_int_equal(a->stored_for, b->stored_for);
    }
}

static void comes_back(void **unused)
{
    struct state *state;
    struct record r;
    struct loaded loaded;
    char installation[32];

    (void)unused;
    make(&r, "aaaa0001", "shop");
    assert_int_equal(state_open(path, &state, NULL), 0);
    snprintf(installation, sizeof(installation), "%s", state_installation(state));
    assert_int_equal(strlen(installation), 16);
    assert_int_equal(state_save(state, &r, NULL), 0);
    state_close(state);

    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_string_equal(state_installation(state), installation);
    load(state, &loaded);
    assert_int_equal(loaded.count, 1);
    assert_same(&loaded.r[0], &r);
    drop(&loaded);

    /* Changes replace, also the list of repositories. */
    r.step = STEP_NONE;
    r.saved = false;
    free(steal(&r.failure));
    repo_row_finish(&r.repos[1]);
    r.repo_count = 1;
    assert_int_equal(state_save(state, &r, NULL), 0);
    load(state, &loaded);
    assert_int_equal(loaded.count, 1);
    assert_same(&loaded.r[0], &r);
    drop(&loaded);
    state_close(state);
    record_finish(&r);
}

static void names_are_taken_once(void **unused)
{
    struct state *state;
    struct record a, b;
    struct loaded loaded;
    auto(error) struct error *err = NULL;

    (void)unused;
    make(&a, "aaaa0001", "shop");
    make(&b, "aaaa0002", "shop");
    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_int_equal(state_save(state, &a, NULL), 0);
    assert_int_equal(state_save(state, &b, &err), -ERROR_EXISTS);
    assert_non_null(strstr(err->message, "shop"));
    load(state, &loaded);
    assert_int_equal(loaded.count, 1);
    drop(&loaded);
    assert_int_equal(state_delete(state, a.id, NULL), 0);
    assert_int_equal(state_save(state, &b, NULL), 0);
    state_close(state);
    record_finish(&a);
    record_finish(&b);
}

static void count_row(const struct session_row *row, void *user)
{
    (void)row;
    (*(int *)user)++;
}

static void all_goes_with_a_project(void **unused)
{
    static const uint8_t key[32] = {1, 2, 3};
    uint8_t got[32];
    struct session_row row = {
        .id = "s1", .started_ns = 5, .pty = true, .subject = (char *)(uintptr_t) "make"};
    struct state *state;
    struct record r;
    int rows = 0;

    (void)unused;
    make(&r, "aaaa0001", "shop");
    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_true(state_key_save(state, r.id, 0, key, NULL) < 0); /* no project: no key */
    assert_int_equal(state_save(state, &r, NULL), 0);
    assert_false(state_key_load(state, r.id, 0, got));
    assert_int_equal(state_key_save(state, r.id, 0, key, NULL), 0);
    assert_true(state_key_load(state, r.id, 0, got));
    assert_memory_equal(key, got, 32);
    assert_false(state_key_load(state, r.id, 2, got));
    assert_int_equal(state_session_save(state, r.id, &row, NULL), 0);
    assert_int_equal(state_session_each(state, r.id, count_row, &rows, NULL), 0);
    assert_int_equal(rows, 1);

    /* Saving the project again keeps what belongs to it. */
    assert_int_equal(state_save(state, &r, NULL), 0);
    assert_true(state_key_load(state, r.id, 0, got));
    assert_int_equal(state_delete(state, r.id, NULL), 0);
    assert_false(state_key_load(state, r.id, 0, got));
    rows = 0;
    assert_int_equal(state_session_each(state, r.id, count_row, &rows, NULL), 0);
    assert_int_equal(rows, 0);
    state_close(state);
    record_finish(&r);
}

/* A writer is killed again and again; every step that it reported is there, and the file is sound. */
static void survives_kills(void **unused)
{
    (void)unused;
    for (int round = 0; round < 10; round++) {
        struct state *state;
        struct loaded loaded;
        int pipe_fds[2], reported = 0, step;
        pid_t pid;

        assert_int_equal(pipe(pipe_fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct record r;

            make(&r, "aaaa0001", "shop");
            if (state_open(path, &state, NULL) < 0)
                _exit(1);
            for (int i = 0;; i++) {
                int done = 1 + i % (STEP_COUNT - 1);

                r.step = (enum step)done;
                if (state_save(state, &r, NULL) < 0 || write(pipe_fds[1], &done, sizeof(done)) < 0)
                    _exit(1);
            }
        }
        close(pipe_fds[1]);
        for (int i = 0; i < 5 + round * 3; i++)
            assert_int_equal(read(pipe_fds[0], &reported, sizeof(reported)), sizeof(reported));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        while (read(pipe_fds[0], &step, sizeof(step)) == sizeof(step))
            reported = step;
        close(pipe_fds[0]);

        assert_int_equal(state_open(path, &state, NULL), 0);
        load(state, &loaded);
        assert_int_equal(loaded.count, 1);
        assert_int_equal(loaded.r[0].repo_count, 2);
        /* The last one that was reported, or the one after it. */
        step = loaded.r[0].step;
        assert_true(step == reported || step == 1 + reported % (STEP_COUNT - 1));
        drop(&loaded);
        state_close(state);
    }
}

struct seen {
    size_t requests, grants;
    struct grant grant;
    char subject[64];
    enum approval_state state;
};

static void see_request(const struct approval_request *request, void *user)
{
    struct seen *seen = user;

    seen->requests++;
    seen->state = request->state;
    snprintf(seen->subject, sizeof(seen->subject), "%s", request->subject);
}

static void see_grant(const struct grant *grant, void *user)
{
    struct seen *seen = user;

    seen->grants++;
    seen->grant = *grant;
}

static struct grant grant_for(const char *authority)
{
    struct request request;
    struct grant grant;

    assert_int_equal(request_parse(authority, strlen(authority), 0, &request, NULL), 0);
    request.project = "p1";
    request.proto = proto_of_port(request.port);
    assert_int_equal(grant_init(&request, SCOPE_PROJECT, 1u << SCOPE_PROJECT, false, 0, &grant, NULL), 0);
    grant.request_id = 7;
    return grant;
}

/* Requests and grants: what is open comes back, numbers are never used twice. */
static void requests_come_back(void **unused)
{
    char p[] = "p1", none[] = "", verb[] = "CONNECT", key[] = "docs.rs:443/tls", fields[] = "{\"a\":1}",
         owner[] = "egress", words[] = "no uploads";
    struct approval_request request = {.project = p,
                                       .boot = none,
                                       .session = none,
                                       .verb = verb,
                                       .key = key,
                                       .subject = key,
                                       .fields = fields,
                                       .owner = owner,
                                       .reason = none,
                                       .by = none,
                                       .tier = APPROVAL_UNUSUAL,
                                       .scopes = 3,
                                       .state = APPROVAL_HELD},
                            back;
    struct state *state;
    struct seen seen = {0};

    (void)unused;
    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_int_equal(state_request_save(state, &request, NULL), 0);
    assert_true(request.id > 0);
    int64_t first = request.id;
    struct grant grant = grant_for("docs.rs:443"), v6 = grant_for("[2001:db8::1]:22");
    assert_int_equal(state_grant_save(state, &grant, NULL), 0);
    assert_int_equal(state_grant_save(state, &v6, NULL), 0);
    v6.uses = 5;
    assert_int_equal(state_grant_save(state, &v6, NULL), 0);
    assert_int_equal(state_grant_delete(state, grant.id, NULL), 0);
    state_close(state);

    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_int_equal(state_requests_open(state, see_request, &seen, NULL), 0);
    assert_int_equal(seen.requests, 1);
    assert_int_equal(seen.state, APPROVAL_HELD);
    assert_string_equal(seen.subject, key);
    assert_int_equal(state_grants_load(state, see_grant, &seen, NULL), 0);
    assert_int_equal(seen.grants, 1);
    assert_true(host_equal(&seen.grant.host, &v6.host));
    assert_int_equal(seen.grant.port, 22);
    assert_int_equal(seen.grant.proto, v6.proto);
    assert_int_equal(seen.grant.uses, 5);
    assert_int_equal(seen.grant.expires, v6.expires);
    request.state = APPROVAL_DENIED;
    request.reason = words;
    assert_int_equal(state_request_save(state, &request, NULL), 0);
    seen.requests = 0;
    assert_int_equal(state_requests_open(state, see_request, &seen, NULL), 0);
    assert_int_equal(seen.requests, 0);
    assert_int_equal(state_request_load(state, first, &back, NULL), 0);
    assert_int_equal(back.state, APPROVAL_DENIED);
    assert_int_equal(back.tier, APPROVAL_UNUSUAL);
    assert_string_equal(back.reason, words);
    state_request_finish(&back);
    request.id = 0;
    assert_int_equal(state_request_save(state, &request, NULL), 0);
    assert_true(request.id > first);
    assert_int_equal(state_request_load(state, 99, &back, NULL), -ERROR_NOT_FOUND);
    state_close(state);
}

static void run_sql(const char *sql)
{
    const char *argv[] = {"sqlite3", path, sql, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};

    if (spawn_run(&spawn, 10000, 4096, NULL, NULL) < 0)
        skip(); /* the program is not there */
}

static void other_versions(void **unused)
{
    struct state *state;
    auto(error) struct error *err = NULL;

    (void)unused;
    assert_int_equal(state_open(path, &state, NULL), 0);
    state_close(state);
    run_sql("PRAGMA user_version = 99");
    assert_int_equal(state_open(path, &state, &err), -ERROR_STATE);
    assert_non_null(strstr(err->message, "newer"));
}

static void damage(void **unused)
{
    struct state *state;
    auto(error) struct error *err = NULL;

    (void)unused;
    assert_int_equal(file_replace(path, "this is no database, whatever its name says", 43, 0600, NULL), 0);
    assert_int_equal(state_open(path, &state, &err), -ERROR_CORRUPT);
    assert_non_null(strstr(err->message, path));
}

static void steps_have_names(void **unused)
{
    (void)unused;
    for (int i = 1; i < STEP_COUNT; i++) {
        assert_int_equal(step_from_name(step_name((enum step)i)), i);
        assert_true(step_operation((enum step)i) != OPERATION_NONE);
        assert_true(*step_about((enum step)i));
    }
    assert_int_equal(step_from_name("no such step"), STEP_NONE);
    assert_int_equal(step_from_name(""), STEP_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_taken_once, setup, teardown),
        cmocka_unit_test_setup_teardown(all_goes_with_a_project, setup, teardown),
        cmocka_unit_test_setup_teardown(survives_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(other_versions, setup, teardown),
        cmocka_unit_test_setup_teardown(damage, setup, teardown),
        cmocka_unit_test(steps_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
