/* What is written comes back, whatever kills or fills. */
#include "test_journal_tools.h"

#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct rows {
    int64_t seqs[4096];
    size_t count, stop_after;
    bool safe;
};

/* Nothing that a terminal would act on, nothing that is not UTF-8. */
static bool is_safe(const char *s)
{
    struct text text;
    text_init(&text, s, strlen(s), 0, TEXT_DEFAULT);
    bool same = !strcmp(text.bytes, s);
    text_finish(&text);
    return same;
}

static bool take(const struct event *event, void *user)
{
    struct rows *rows = user;
    const char *const strings[] = {event->project, event->boot,    event->session, event->kind,
                                   event->actor,   event->subject, event->verdict, event->rule};
    for (size_t i = 0; i < countof(strings); i++)
        rows->safe = rows->safe && (!strings[i] || is_safe(strings[i]));
    rows->seqs[rows->count++] = event->seq;
    return !rows->stop_after || rows->count < rows->stop_after;
}

static struct rows query(struct journal *journal, const struct journal_query *q)
{
    struct rows rows = {.safe = true};
    assert_ok(journal_select(journal, q, take, &rows, &err));
    return rows;
}

static bool check_fields(const struct event *event, void *user)
{
    assert_int_equal(event->seq, 2);
    assert_int_equal(event->ts, 123456789);
    assert_string_equal(event->project, "shop");
    assert_null(event->boot);
    assert_string_equal(event->session, "s1");
    assert_string_equal(event->kind, "git.clone");
    assert_string_equal(event->actor, "user");
    assert_string_equal(event->subject, "grüße");
    assert_string_equal(event->verdict, "");
    assert_null(event->rule);
    assert_int_equal(event->bytes_up, -1);
    assert_int_equal(event->bytes_down, INT64_MAX);
    assert_int_equal(event->ms, -1);
    assert_int_equal(event->exit, 128);
    assert_string_equal(event->data, "{\"a\":1}");
    assert_int_equal(strlen(event->prev), 64);
    assert_int_equal(strlen(event->hash), 64);
    ++*(int *)user;
    return true;
}

static void fields_come_back(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    append_nth(journal, 1);
    struct event event = EVENT_INIT;
    event.ts = 123456789;
    event.project = "shop";
    event.session = "s1";
    event.kind = "git.clone";
    event.actor = "user";
    event.subject = "grüße";
    event.verdict = "";
    event.bytes_down = INT64_MAX;
    event.exit = 128;
    event.data = "{\"a\":1}";
    int64_t seq = 0;
    assert_ok(journal_append(journal, &event, true, &seq, &err));
    assert_int_equal(seq, 2);
    int calls = 0;
    struct journal_query q = {.after_seq = 1};
    assert_ok(journal_select(journal, &q, check_fields, &calls, &err));
    assert_int_equal(calls, 1);
    journal_close(journal);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void now_is_the_default_time(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    struct event event = EVENT_INIT;
    event.kind = "daemon";
    int64_t before = units_now_ns();
    assert_ok(journal_append(journal, &event, false, NULL, &err));
    assert_int_equal(query(journal, &(struct journal_query){.since_ts = before}).count, 1);
    assert_int_equal(query(journal, &(struct journal_query){.since_ts = units_now_ns() + 1}).count, 0);
    journal_close(journal);
}

static void queries_select(void **state)
{
    autofree char *path = database(state);
    fill(path, 1, 40);
    struct journal *journal = open_at(path);
    struct event event = EVENT_INIT;
    event.kind = "exec.stop";
    assert_ok(journal_append(journal, &event, false, NULL, &err)); /* 41 */
    event.kind = "egress";
    assert_ok(journal_append(journal, &event, false, NULL, &err)); /* 42 */

    assert_int_equal(query(journal, &(struct journal_query){0}).count, 42);
    assert_int_equal(query(journal, &(struct journal_query){.project = "shop"}).count, 20);
    assert_int_equal(query(journal, &(struct journal_query){.kind = "exec"}).count, 31);
    assert_int_equal(query(journal, &(struct journal_query){.kind = "exec.stop"}).count, 1);
    assert_int_equal(query(journal, &(struct journal_query){.kind = "egress"}).count, 11);
    assert_int_equal(query(journal, &(struct journal_query){.kind = "exe"}).count, 0);
    assert_int_equal(query(journal, &(struct journal_query){.session = "s1"}).count, 27);
    assert_int_equal(query(journal, &(struct journal_query){.since_ts = 1031}).count, 12);
    struct rows rows = query(journal, &(struct journal_query){.after_seq = 5, .limit = 3});
    assert_int_equal(rows.count, 3);
    assert_int_equal(rows.seqs[0], 6);
    rows = query(journal, &(struct journal_query){.limit = 3, .newest = true, .project = "blog"});
    assert_int_equal(rows.count, 3);
    assert_int_equal(rows.seqs[0], 36);
    assert_int_equal(rows.seqs[2], 40);
    static const char *const names[] = {"blog", "no-such", NULL};
    rows = query(journal, &(struct journal_query){.limit = 2, .each = 3, .each_of = names});
    assert_int_equal(rows.count, 5); /* 41 and 42 of all, 36, 38 and 40 of blog */
    assert_int_equal(rows.seqs[0], 36);
    assert_int_equal(rows.seqs[3], 41);
    rows = query(journal, &(struct journal_query){.limit = 2, .each = 3, .each_of = names, .after_seq = 38});
    assert_int_equal(rows.count, 3);
    rows = (struct rows){.stop_after = 2, .safe = true};
    assert_ok(journal_select(journal, &(struct journal_query){0}, take, &rows, &err));
    assert_int_equal(rows.count, 2);
    journal_close(journal);
}

/* The bytes of the chain, put together by hand: the format is a contract with every verifier. */
static void chain_is_as_documented(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    struct event event = EVENT_INIT;
    event.ts = 0x0102030405060708;
    event.kind = "exec";
    event.subject = "ls";
    event.exit = 0;
    assert_ok(journal_append(journal, &event, false, NULL, &err));
    static const uint8_t record[] = "\2\0\0\0\0\0\0\0\1"                 /* seq */
                                    "\2\1\2\3\4\5\6\7\10"                /* ts */
                                    "\0\0\0"                             /* project, boot, session */
                                    "\1\0\0\0\4exec"                     /* kind */
                                    "\0"                                 /* actor */
                                    "\1\0\0\0\2ls"                       /* subject */
                                    "\0\0"                               /* verdict, rule */
                                    "\2\377\377\377\377\377\377\377\377" /* bytes_up */
                                    "\2\377\377\377\377\377\377\377\377" /* bytes_down */
                                    "\2\377\377\377\377\377\377\377\377" /* ms */
                                    "\2\0\0\0\0\0\0\0\0"; /* exit; the end of the literal is data: none */
    uint8_t sum[32];
    const uint8_t length[4] = {0, 0, 0, sizeof(record)};
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_DigestInit_ex(md, EVP_sha256(), NULL);
    EVP_DigestUpdate(md, "hutch-journal-1", 15);
    EVP_DigestUpdate(md, journal->id, 32);
    EVP_DigestUpdate(md, length, 4);
    EVP_DigestUpdate(md, record, sizeof(record));
    EVP_DigestFinal_ex(md, sum, NULL);
    EVP_MD_CTX_free(md);
    assert_memory_equal(journal->last_hash, sum, 32);
    journal_close(journal);
}

static void chain_goes_on_after_reopening(void **state)
{
    autofree char *path = database(state);
    fill(path, 1, 300);
    fill(path, 301, 520);
    struct journal *journal = open_at(path);
    assert_int_equal(journal_last_seq(journal), 520);
    struct journal *reader = NULL;
    assert_ok(journal_open(path, true, &reader, &err));
    assert_int_equal(journal_last_seq(reader), 520);
    journal_close(reader);
    journal_close(journal);
    assert_whole(path);
}

static void the_file_refuses_changes(void **state)
{
    autofree char *path = database(state);
    fill(path, 1, 5);
    assert_int_equal(sql_on(path, "UPDATE event SET subject = 'x' WHERE seq = 2"), SQLITE_CONSTRAINT);
    assert_int_equal(sql_on(path, "DELETE FROM event WHERE seq = 2"), SQLITE_CONSTRAINT);
    assert_int_equal(sql_on(path, "INSERT OR REPLACE INTO event SELECT * FROM event WHERE seq = 2"),
                     SQLITE_CONSTRAINT);
    assert_int_equal(sql_on(path, "UPDATE meta SET value = 'x'"), SQLITE_CONSTRAINT);
    assert_int_equal(sql_on(path, "DELETE FROM meta"), SQLITE_CONSTRAINT);
    assert_whole(path);
}

static void events_are_checked(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    static const char *const bad_kinds[] = {"",       "exe",    "execx", "exec.",
                                            "exec.A", "exec x", ".exec", "exec\n"};
    struct event event = EVENT_INIT;
    assert_error(journal_append(journal, &event, false, NULL, &err), ERROR_INVALID, "no kind");
    for (size_t i = 0; i < countof(bad_kinds); i++) {
        event.kind = bad_kinds[i];
        assert_error(journal_append(journal, &event, false, NULL, &err), ERROR_INVALID, "no kind");
    }
    event.kind = "exec";
    static const char *const bad_data[] = {"{\n}", "{\"a\":\"\xff\"}", "\x1b", "{\"a\":\"\xc0\x80\"}"};
    for (size_t i = 0; i < countof(bad_data); i++) {
        event.data = bad_data[i];
        assert_error(journal_append(journal, &event, false, NULL, &err), ERROR_INVALID, "one line");
    }
    autofree char *large = xrealloc(NULL, JOURNAL_DATA_MAX + 2, 1);
    memset(large, 'x', JOURNAL_DATA_MAX + 1);
    large[JOURNAL_DATA_MAX + 1] = '\0';
    event.data = large;
    assert_error(journal_append(journal, &event, false, NULL, &err), ERROR_LIMIT, "exec");
    large[JOURNAL_DATA_MAX] = '\0';
    assert_ok(journal_append(journal, &event, false, NULL, &err));
    assert_int_equal(journal_last_seq(journal), 1);
    journal_close(journal);
}

static void texts_are_made_safe(void **state)
{
    static const char *const hostile[] = {
        "\x1b[2J\x1b]52;c;ZXZpbA==\a",
        "a\rb",
        "\xc2\x9b"
        "31m",
        "evil\xe2\x80\xaetxt.exe",
        "\xff\xfe",
        "line\nline",
    };
    autofree char *path = database(state);
    autofree char *large = xrealloc(NULL, 100001, 1);
    memset(large, 'x', 100000);
    large[100000] = '\0';
    struct journal *journal = open_at(path);
    for (size_t i = 0; i <= countof(hostile); i++) {
        const char *s = i < countof(hostile) ? hostile[i] : large;
        struct event event = {.kind = "exec",
                              .project = s,
                              .boot = s,
                              .session = s,
                              .actor = s,
                              .subject = s,
                              .verdict = s,
                              .rule = s};
        assert_ok(journal_append(journal, &event, false, NULL, &err));
    }
    struct rows rows = query(journal, &(struct journal_query){0});
    assert_int_equal(rows.count, countof(hostile) + 1);
    assert_true(rows.safe);
    journal_close(journal);
    assert_whole(path);
}

struct appender {
    pthread_t thread;
    struct journal *journal;
};

static void *append_many(void *user)
{
    struct appender *appender = user;
    for (int n = 0; n < 400; n++)
        append_nth(appender->journal, n);
    return NULL;
}

static void count_up(int64_t seq, void *user)
{
    __atomic_add_fetch((int *)user, 1, __ATOMIC_RELAXED);
}

static void threads_append_while_it_is_read(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path), *reader = NULL;
    int appended = 0;
    journal_on_append(journal, count_up, &appended);
    assert_ok(journal_open(path, true, &reader, &err));
    struct appender appenders[3];
    for (size_t i = 0; i < countof(appenders); i++) {
        appenders[i].journal = journal;
        assert_int_equal(pthread_create(&appenders[i].thread, NULL, append_many, &appenders[i]), 0);
    }
    for (int i = 0; i < 10; i++) {
        int64_t rows, bad;
        struct found found = {0};
        assert_ok(journal_verify(reader, note, &found, &rows, &bad, &err));
        if (bad)
            fail_msg("%s", found.words);
    }
    for (size_t i = 0; i < countof(appenders); i++)
        pthread_join(appenders[i].thread, NULL);
    assert_int_equal(appended, 1200);
    assert_int_equal(journal_last_seq(reader), 1200);
    journal_close(reader);
    journal_close(journal);
    assert_whole(path);
}

static bool append_inside(const struct event *event, void *user)
{
    append_nth(user, (int)event->seq);
    return event->seq < 10;
}

static void appends_go_on_inside_a_query(void **state)
{
    autofree char *path = database(state);
    fill(path, 1, 20);
    struct journal *journal = open_at(path);
    assert_ok(journal_select(journal, &(struct journal_query){0}, append_inside, journal, &err));
    assert_int_equal(journal_last_seq(journal), 30);
    journal_close(journal);
}

/* A writer that is killed at any moment loses nothing of what it was told is written. */
static void kills_lose_nothing(void **state)
{
    autofree char *path = database(state);
    int64_t known = 0;
    for (int round = 0; round < 12; round++) {
        int pipe_fds[2];
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (!pid) {
            struct journal *journal = NULL;
            if (journal_open(path, false, &journal, NULL) < 0)
                _exit(1);
            for (;;) {
                struct event event = EVENT_INIT;
                int64_t seq;
                event.kind = "exec";
                if (journal_append(journal, &event, false, &seq, NULL) < 0 ||
                    write(pipe_fds[1], &seq, sizeof(seq)) != sizeof(seq))
                    _exit(1);
            }
        }
        close(pipe_fds[1]);
        int64_t seq;
        /* a different number of rows each time, so that the kill also falls into anchors and checkpoints */
        for (int i = 0; i < 40 + 97 * round; i++)
            assert_int_equal(read(pipe_fds[0], &seq, sizeof(seq)), sizeof(seq));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (read(pipe_fds[0], &seq, sizeof(seq)) == sizeof(seq))
            ;
        close(pipe_fds[0]);
        assert_true(seq > known);
        known = seq;
        struct journal *journal = open_at(path);
        assert_true(journal_last_seq(journal) >= known);
        known = journal_last_seq(journal);
        journal_close(journal);
        assert_whole(path);
    }
}

/* Appends until it fails; returns the code. Small rows, so that the failure falls anywhere in a page. */
static int append_until_full(struct journal *journal, int64_t *ret_rows)
{
    struct event event = EVENT_INIT;
    event.kind = "exec";
    event.data = "{\"x\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}";
    for (int i = 0; i < 1000000; i++) {
        int rc = journal_append(journal, &event, i % 7 == 0, NULL, NULL);
        if (rc < 0) {
            *ret_rows = journal_last_seq(journal);
            return rc;
        }
    }
    return 0;
}

/* In a child: the limit must not hit the test's own output. */
static int limited_child(const char *path)
{
    struct rlimit small = {3000000, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    struct journal *journal = NULL;
    struct event event = EVENT_INIT;
    int64_t rows = 0, seq = 0;
    event.kind = "daemon";
    signal(SIGXFSZ, SIG_IGN);
    if (journal_open(path, false, &journal, NULL) < 0)
        return 1;
    if (setrlimit(RLIMIT_FSIZE, &small) < 0 || append_until_full(journal, &rows) != -ERROR_IO || rows < 100)
        return 2;
    if (journal_append(journal, &event, true, NULL, NULL) >= 0)
        return 3;
    if (setrlimit(RLIMIT_FSIZE, &none) < 0 || journal_append(journal, &event, true, &seq, NULL) < 0)
        return 4;
    if (seq != rows + 1)
        return 5;
    journal_close(journal);
    return 0;
}

static void a_file_that_cannot_grow_fails_and_recovers(void **state)
{
    autofree char *path = database(state);
    pid_t pid = fork();
    if (!pid)
        _exit(limited_child(path));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_whole(path);
}

static void a_full_disk_fails_and_recovers(void **state)
{
    autofree char *folder = file_join(*state, "small"), *path = file_join(folder, "journal.db");
    autofree char *ballast = file_join(folder, "ballast");
    assert_int_equal(mkdir(folder, 0700), 0);
    if (mount("none", folder, "tmpfs", 0, "size=1m") < 0) {
        print_message("no right to mount a small tmpfs: skipped\n");
        skip();
    }
    autofree char *block = xcalloc(1, 200000);
    bool made = file_replace(ballast, block, 200000, 0600, NULL) == 0;
    struct journal *journal = NULL;
    int opened = journal_open(path, false, &journal, NULL), full = 0, again = 0;
    int64_t rows = 0, seq = 0;
    if (opened == 0) {
        struct event event = EVENT_INIT;
        event.kind = "daemon";
        full = append_until_full(journal, &rows);
        unlink(ballast);
        again = journal_append(journal, &event, true, &seq, NULL);
        journal_close(journal);
    }
    struct found found = verify(path);
    umount2(folder, MNT_DETACH);
    assert_true(made);
    assert_int_equal(opened, 0);
    assert_int_equal(full, -ERROR_NO_SPACE);
    assert_int_equal(again, 0);
    assert_int_equal(seq, rows + 1);
    if (found.total)
        fail_msg("%s", found.words);
}

/* A group is one act: in order, chained, with its anchors; one bad event leaves none of it. */
static void groups_are_whole(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    struct event events[600];
    int64_t seq = 0;
    int calls = 0;

    for (size_t i = 0; i < countof(events); i++) {
        events[i] = (struct event)EVENT_INIT;
        events[i].kind = "egress.open";
        events[i].project = "shop";
        events[i].subject = "docs.rs:443";
    }
    append_nth(journal, 1);
    journal_on_append(journal, count_up, &calls);
    assert_ok(journal_append_all(journal, events, countof(events), false, &seq, &err));
    assert_int_equal(seq, 1 + (int64_t)countof(events));
    assert_int_equal(calls, 1);
    events[7].kind = "nonsense";
    assert_error(journal_append_all(journal, events, countof(events), false, &seq, &err), ERROR_INVALID,
                 "nonsense");
    assert_int_equal(journal_last_seq(journal), 1 + (int64_t)countof(events));
    append_nth(journal, 2);
    journal_close(journal);
    assert_whole(path);
    autofree char *anchors = xasprintf("%s.anchors", path);
    autofree char *text = NULL;
    size_t len;
    assert_ok(file_read(anchors, 1 << 20, &text, &len, &err));
    assert_non_null(strstr(text, " 256 "));
    assert_non_null(strstr(text, " 512 "));
}

/* A commit that fails halfway through a group takes all of it back. */
static void a_group_that_fails_leaves_nothing(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    struct event events[3] = {EVENT_INIT, EVENT_INIT, EVENT_INIT};

    for (size_t i = 0; i < countof(events); i++) {
        events[i].kind = "egress.open";
        events[i].subject = i == 2 ? "the third" : "one";
    }
    append_nth(journal, 1);
    assert_int_equal(sql_on(path, "CREATE TRIGGER third BEFORE INSERT ON event WHEN NEW.subject = 'the third'"
                                  " BEGIN SELECT RAISE(ABORT, 'no third'); END"),
                     SQLITE_OK);
    assert_error(journal_append_all(journal, events, countof(events), false, NULL, &err), ERROR_IO,
                 "no third");
    assert_int_equal(sql_on(path, "DROP TRIGGER third"), SQLITE_OK);
    assert_ok(journal_append_all(journal, events, countof(events), false, NULL, &err));
    assert_int_equal(journal_last_seq(journal), 4);
    journal_close(journal);
    assert_whole(path);
}

static void speed_is_told(void **state)
{
    autofree char *path = database(state);
    struct journal *journal = open_at(path);
    const int rows = 20000;
    int64_t start = units_monotonic_ns();
    for (int n = 0; n < rows; n++)
        append_nth(journal, n);
    int64_t end = units_monotonic_ns();
    print_message("%lld rows a second appended\n", (long long)(rows * INT64_C(1000000000) / (end - start)));
    int64_t checked, bad;
    start = units_monotonic_ns();
    assert_ok(journal_verify(journal, NULL, NULL, &checked, &bad, &err));
    end = units_monotonic_ns();
    assert_int_equal(checked, rows);
    assert_int_equal(bad, 0);
    print_message("%lld rows a second verified\n", (long long)(rows * INT64_C(1000000000) / (end - start)));
    journal_close(journal);
}

int main(void)
{
    alarm(240);
    const struct CMUnitTest tests[] = {
        scratch_test(fields_come_back),
        scratch_test(now_is_the_default_time),
        scratch_test(queries_select),
        scratch_test(chain_is_as_documented),
        scratch_test(chain_goes_on_after_reopening),
        scratch_test(the_file_refuses_changes),
        scratch_test(events_are_checked),
        scratch_test(texts_are_made_safe),
        scratch_test(threads_append_while_it_is_read),
        scratch_test(appends_go_on_inside_a_query),
        scratch_test(kills_lose_nothing),
        scratch_test(a_file_that_cannot_grow_fails_and_recovers),
        scratch_test(a_full_disk_fails_and_recovers),
        scratch_test(groups_are_whole),
        scratch_test(a_group_that_fails_leaves_nothing),
        scratch_test(speed_is_told),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
