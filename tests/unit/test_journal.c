/* What is written comes back, whatever kills or fills; and no damage goes unnamed. */
#include "test_base_scratch.h"

#include "base/text.h"
#include "base/units.h"
#include "journal/journal.h"
#include "journal/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *database(void **state)
{
    return file_join(*state, "journal.db");
}

static struct journal *open_at(const char *path)
{
    struct journal *journal = NULL;
    assert_ok(journal_open(path, false, &journal, &err));
    return journal;
}

/* Row n of a filled journal. */
static void append_nth(struct journal *journal, int n)
{
    char subject[64], data[64];
    snprintf(subject, sizeof(subject), "npm install %d", n);
    snprintf(data, sizeof(data), "{\"argv\":[\"npm\",\"install\"],\"n\":%d}", n);
    struct event event = {.ts = 1000 + n,
                          .project = n % 2 ? "shop" : "blog",
                          .boot = "b1",
                          .session = n % 3 ? "s1" : NULL,
                          .kind = n % 4 ? "exec" : "egress.open",
                          .actor = "guest",
                          .subject = subject,
                          .verdict = "allow",
                          .rule = "r7",
                          .bytes_up = n,
                          .bytes_down = 2 * n,
                          .ms = 3,
                          .exit = 0,
                          .data = data};
    assert_ok(journal_append(journal, &event, false, NULL, &err));
}

static void fill(const char *path, int from, int to)
{
    struct journal *journal = open_at(path);
    for (int n = from; n <= to; n++)
        append_nth(journal, n);
    journal_close(journal);
}

/* SQL on the file as somebody else would run it. */
static int sql_on(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int sql_on(const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *sql = xvasprintf(format, args);
    va_end(args);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}

#define NO_TRIGGERS                                                                                          \
    "DROP TRIGGER event_no_update; DROP TRIGGER event_no_delete; DROP TRIGGER event_in_order;"               \
    "DROP TRIGGER meta_no_update; DROP TRIGGER meta_no_delete;"

struct found {
    int count[DAMAGE_REPLACED + 1];
    int64_t seq[DAMAGE_REPLACED + 1]; /* of the first of its kind */
    int total;
    char *words; /* of the first */
};

static void note(enum journal_damage damage, int64_t seq, const char *words, void *user)
{
    struct found *found = user;
    if (!found->count[damage]++)
        found->seq[damage] = seq;
    if (!found->total++)
        found->words = xstrdup(words);
}

static struct found verify(const char *path)
{
    struct found found = {0};
    struct journal *journal = NULL;
    int64_t rows, bad;
    assert_ok(journal_open(path, true, &journal, &err));
    assert_ok(journal_verify(journal, note, &found, &rows, &bad, &err));
    assert_int_equal(bad, found.total);
    journal_close(journal);
    return found;
}

/* Exactly one damage, of this kind, at this row. */
static void assert_damage(const char *path, enum journal_damage damage, int64_t seq)
{
    struct found found = verify(path);
    if (found.total != 1 || found.count[damage] != 1 || found.seq[damage] != seq)
        fail_msg("%d damages, %d of kind %d, the first at %lld; first: %s", found.total, found.count[damage],
                 damage, (long long)found.seq[damage], found.words ? found.words : "none");
    free(found.words);
}

static void assert_whole(const char *path)
{
    struct found found = verify(path);
    if (found.total)
        fail_msg("%d damages, the first: %s", found.total, found.words);
}

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

static void each_edited_column_is_named(void **state)
{
    static const char *const edits[] = {
        "ts = ts + 1",
        "project = 'blog2'",
        "boot = NULL",
        "session = ''",
        "kind = 'egress'",
        "actor = 'user'",
        "subject = subject || ' '",
        "verdict = 'deny'",
        "rule = NULL",
        "bytes_up = 0",
        "bytes_down = -1",
        "ms = 4",
        "exit = 1",
        "data = NULL",
        "prev = upper(prev)",
        "hash = 'x'",
        "prev = (SELECT hash FROM event WHERE seq = 3)",
        /* a NUL hides what follows from who reads C strings */
        "subject = CAST(CAST(subject AS BLOB) || x'00' || 'evil' AS TEXT)",
        /* the same bytes, divided in another way */
        "verdict = 'allowr', rule = '7'",
        /* other types that read alike */
        "subject = CAST(subject AS BLOB)",
        "ms = 3.5",
    };
    for (size_t i = 0; i < countof(edits); i++) {
        autofree char *name = xasprintf("edit%zu.db", i);
        autofree char *path = file_join(*state, name);
        fill(path, 1, 20);
        assert_int_equal(sql_on(path, NO_TRIGGERS "UPDATE event SET %s WHERE seq = 7", edits[i]), SQLITE_OK);
        assert_damage(path, DAMAGE_EDITED, 7);
    }
}

/* An attacker who computes hashes: rewrites rows from first to last with a chain that fits. */
static void rewrite(const char *path, int64_t first, int64_t last)
{
    assert_int_equal(
        sql_on(path, NO_TRIGGERS "UPDATE event SET subject = 'innocent' WHERE seq = %lld", (long long)first),
        SQLITE_OK);
    sqlite3 *db;
    struct chain chain;
    assert_ok(chain_init(&chain, &err));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    uint8_t before[HASH_SIZE];
    for (int64_t seq = first; seq <= last; seq++) {
        sqlite3_stmt *row;
        struct record record;
        uint8_t prev[HASH_SIZE], hash[HASH_SIZE];
        char prev_hex[HEX_SIZE], hash_hex[HEX_SIZE];
        sqlite3_prepare_v2(db, "SELECT " EVENT_COLUMNS " FROM event WHERE seq = ?", -1, &row, NULL);
        sqlite3_bind_int64(row, 1, seq);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        assert_true(record_read(row, &record, prev, hash));
        chain_hash(&chain, seq == first ? prev : before, &record, hash);
        hash_to_hex(seq == first ? prev : before, prev_hex);
        hash_to_hex(hash, hash_hex);
        memcpy(before, hash, HASH_SIZE);
        sqlite3_finalize(row);
        autofree char *sql = xasprintf("UPDATE event SET prev = '%s', hash = '%s' WHERE seq = %lld", prev_hex,
                                       hash_hex, (long long)seq);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    sqlite3_close(db);
    chain_finish(&chain);
}

static void rewritten_rows_are_named(void **state)
{
    autofree char *one = file_join(*state, "one.db"), *all = file_join(*state, "all.db");
    fill(one, 1, 300);
    rewrite(one, 100, 100);
    assert_damage(one, DAMAGE_EDITED, 100);
    fill(all, 1, 300);
    rewrite(all, 100, 300);
    assert_damage(all, DAMAGE_REPLACED, 256);
}

static void missing_rows_are_named(void **state)
{
    autofree char *one = file_join(*state, "one.db"), *first = file_join(*state, "first.db");
    fill(one, 1, 30);
    assert_int_equal(sql_on(one, NO_TRIGGERS "DELETE FROM event WHERE seq = 9"), SQLITE_OK);
    assert_damage(one, DAMAGE_MISSING, 9);
    fill(first, 1, 30);
    assert_int_equal(sql_on(first, NO_TRIGGERS "DELETE FROM event WHERE seq <= 4"), SQLITE_OK);
    assert_damage(first, DAMAGE_MISSING, 1);
}

static void swapped_rows_are_named(void **state)
{
    static const int pairs[][2] = {{5, 6}, {5, 7}, {10, 90}, {1, 100}};
    for (size_t i = 0; i < countof(pairs); i++) {
        autofree char *name = xasprintf("swap%zu.db", i);
        autofree char *path = file_join(*state, name);
        int a = pairs[i][0], b = pairs[i][1];
        fill(path, 1, 120);
        assert_int_equal(sql_on(path,
                                NO_TRIGGERS "UPDATE event SET seq = 9999 WHERE seq = %d;"
                                            "UPDATE event SET seq = %d WHERE seq = %d;"
                                            "UPDATE event SET seq = %d WHERE seq = 9999",
                                a, a, b, b),
                         SQLITE_OK);
        struct found found = verify(path);
        assert_int_equal(found.total, 2);
        assert_int_equal(found.count[DAMAGE_REORDERED], 2);
        assert_int_equal(found.seq[DAMAGE_REORDERED], a);
        free(found.words);
    }
}

static void a_cut_tail_is_named(void **state)
{
    autofree char *few = file_join(*state, "few.db"), *all = file_join(*state, "all.db");
    fill(few, 1, 300);
    assert_int_equal(sql_on(few, NO_TRIGGERS "DELETE FROM event WHERE seq > 290"), SQLITE_OK);
    assert_damage(few, DAMAGE_CUT, 291);
    fill(all, 1, 10);
    assert_int_equal(sql_on(all, NO_TRIGGERS "DELETE FROM event"), SQLITE_OK);
    assert_damage(all, DAMAGE_CUT, 1);
}

static void copy_file(const char *from, const char *to)
{
    autofree char *data = NULL;
    size_t len;
    assert_ok(file_read(from, 64 << 20, &data, &len, &err));
    assert_ok(file_replace(to, data, len, 0600, &err));
}

static void an_older_copy_is_named(void **state)
{
    autofree char *path = database(state), *copy = file_join(*state, "copy.db");
    fill(path, 1, 200);
    copy_file(path, copy);
    fill(path, 201, 600);
    copy_file(copy, path);
    assert_damage(path, DAMAGE_CUT, 201);
    /* and goes on being found when hutchd wrote on */
    fill(path, 1001, 1500);
    struct found found = verify(path);
    assert_int_equal(found.count[DAMAGE_REPLACED], 1);
    assert_int_equal(found.seq[DAMAGE_REPLACED], 256);
    free(found.words);
}

static void another_journal_is_named(void **state)
{
    autofree char *path = database(state), *other = file_join(*state, "other.db");
    fill(path, 1, 20);
    fill(other, 1, 20);
    copy_file(other, path);
    struct found found = verify(path);
    assert_int_equal(found.count[DAMAGE_REPLACED], 1);
    free(found.words);
    /* with the id of the old one its rows still belong to the other */
    autofree char *id_sql = NULL;
    struct journal *journal = open_at(other);
    char hex[HEX_SIZE];
    hash_to_hex(journal->id, hex);
    journal_close(journal);
    fill(path, 21, 21);
    assert_int_equal(sql_on(path, NO_TRIGGERS "UPDATE meta SET value = '%064d' WHERE key = 'id'", 7),
                     SQLITE_OK);
    found = verify(path);
    assert_true(found.count[DAMAGE_REPLACED] >= 1);
    free(found.words);
}

static void damaged_anchors_are_named(void **state)
{
    autofree char *path = database(state), *anchors = anchors_path(path);
    autofree char *data = NULL;
    size_t len;
    fill(path, 1, 600);
    assert_ok(file_read(anchors, 1 << 20, &data, &len, &err));
    const size_t line = 2 * 64 + 2;

    assert_int_equal(unlink(anchors), 0);
    assert_damage(path, DAMAGE_CUT, 0);

    /* without the line of row 256, the second one (seq has one digit in the first, three in the second) */
    autofree char *less = xmemdup(data, len);
    memmove(less + line + 2, less + line + 2 + line + 4, len - (line + 2) - (line + 4));
    assert_ok(file_replace(anchors, less, len - (line + 4), 0600, &err));
    assert_damage(path, DAMAGE_CUT, 256);

    autofree char *garbage = xmemdup(data, len);
    garbage[3] = 'x';
    assert_ok(file_replace(anchors, garbage, len, 0600, &err));
    assert_damage(path, DAMAGE_EDITED, 0);

    /* what a crash leaves at the end is no damage, and is repaired */
    assert_ok(file_replace(anchors, data, len - 20, 0600, &err));
    assert_whole(path);
    fill(path, 601, 800);
    assert_whole(path);
}

static void broken_pages_are_named(void **state)
{
    autofree char *path = database(state);
    fill(path, 1, 600);
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    char zeros[4096];
    memset(zeros, 0x55, sizeof(zeros));
    for (off_t at = st.st_size / 2; at < st.st_size; at += sizeof(zeros))
        assert_int_equal(pwrite(fd, zeros, sizeof(zeros), at), sizeof(zeros));
    struct journal *journal = NULL;
    int64_t rows = 0, bad = 0;
    struct found found = {0};
    assert_ok(journal_open(path, true, &journal, &err));
    assert_ok(journal_verify(journal, note, &found, &rows, &bad, &err));
    assert_true(bad > 0);
    free(found.words);
    journal_close(journal);

    memset(zeros, 'x', sizeof(zeros));
    assert_ok(file_replace(path, zeros, sizeof(zeros), 0600, &err));
    assert_error(journal_open(path, true, &journal, &err), ERROR_CORRUPT, path);
    assert_error(journal_open(path, false, &journal, &err), ERROR_CORRUPT, path);
    assert_int_equal(unlink(path), 0);
    assert_error(journal_open(path, true, &journal, &err), ERROR_NOT_FOUND, path);
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
        scratch_test(each_edited_column_is_named),
        scratch_test(rewritten_rows_are_named),
        scratch_test(missing_rows_are_named),
        scratch_test(swapped_rows_are_named),
        scratch_test(a_cut_tail_is_named),
        scratch_test(an_older_copy_is_named),
        scratch_test(another_journal_is_named),
        scratch_test(damaged_anchors_are_named),
        scratch_test(broken_pages_are_named),
        scratch_test(events_are_checked),
        scratch_test(texts_are_made_safe),
        scratch_test(threads_append_while_it_is_read),
        scratch_test(appends_go_on_inside_a_query),
        scratch_test(kills_lose_nothing),
        scratch_test(a_file_that_cannot_grow_fails_and_recovers),
        scratch_test(a_full_disk_fails_and_recovers),
        scratch_test(speed_is_told),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
