/* No damage goes unnamed: each is named once, as what it is, at its row. */
#include "test_journal_tools.h"

#include "base/units.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Exactly one damage, of this kind, at this row. */
static void assert_damage(const char *path, enum journal_damage damage, int64_t seq)
{
    struct found found = verify(path);
    if (found.total != 1 || found.count[damage] != 1 || found.seq[damage] != seq)
        fail_msg("%d damages, %d of kind %d, the first at %lld; first: %s", found.total, found.count[damage],
                 damage, (long long)found.seq[damage], found.words ? found.words : "none");
    free(found.words);
}

static void L02_each_edited_column_is_named(void **state)
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

static void L02_missing_rows_are_named(void **state)
{
    autofree char *one = file_join(*state, "one.db"), *first = file_join(*state, "first.db");
    fill(one, 1, 30);
    assert_int_equal(sql_on(one, NO_TRIGGERS "DELETE FROM event WHERE seq = 9"), SQLITE_OK);
    assert_damage(one, DAMAGE_MISSING, 9);
    fill(first, 1, 30);
    assert_int_equal(sql_on(first, NO_TRIGGERS "DELETE FROM event WHERE seq <= 4"), SQLITE_OK);
    assert_damage(first, DAMAGE_MISSING, 1);
}

static void L02_swapped_rows_are_named(void **state)
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

static void L02_a_cut_tail_is_named(void **state)
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

static void L02_an_older_copy_is_named(void **state)
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

static void L02_damaged_anchors_are_named(void **state)
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

int main(void)
{
    alarm(240);
    const struct CMUnitTest tests[] = {
        scratch_test(L02_each_edited_column_is_named), scratch_test(rewritten_rows_are_named),
        scratch_test(L02_missing_rows_are_named),      scratch_test(L02_swapped_rows_are_named),
        scratch_test(L02_a_cut_tail_is_named),         scratch_test(L02_an_older_copy_is_named),
        scratch_test(another_journal_is_named),    scratch_test(L02_damaged_anchors_are_named),
        scratch_test(broken_pages_are_named),
    };
    return cmocka_run_group_tests_name("journal damage", tests, NULL, NULL);
}
