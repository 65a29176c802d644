/* state.db: layers and snapshots, each change with the step that it belongs to; a file of before them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "daemon/state_snapshots.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/test-snaps-XXXXXX";
static char *path;
static struct state *state;
static struct record record;

static int setup(void **unused)
{
    (void)unused;
    alarm(60);
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    path = file_join(folder, "state.db");
    record = (struct record){
        .id = "aaaa0001", .uuid = "u1", .name = "box", .template = xstrdup("t"), .user = xstrdup("agent")};
    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_int_equal(state_save(state, &record, NULL), 0);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    state_close(state);
    record_finish(&record);
    file_remove_tree(folder, NULL);
    free(path);
    return 0;
}

/* A snapshot from begin to end, as its job does it. */
static void take(int64_t number)
{
    struct snapshot_row row = {.number = number,
                               .parent = record.here,
                               .cause = "person",
                               .note = (char *)(uintptr_t) "n",
                               .kept = true};
    struct snapshot_change change = {record.id, &row, record.layer, ++record.layer_last};

    assert_int_equal(state_save_with(state, &record, state_snapshot_begin, &change, NULL), 0);
    snprintf(row.consistent, sizeof(row.consistent), SNAPSHOT_WHOLE);
    record.layer = change.next;
    record.here = number;
    assert_int_equal(state_save_with(state, &record, state_snapshot_end, &change, NULL), 0);
}

static void count(const struct snapshot_row *row, void *user)
{
    assert_true(row->made);
    (*(int *)user)++;
}

static int snapshots(void)
{
    int n = 0;

    assert_int_equal(state_snapshots_each(state, record.id, count, &n, NULL), 0);
    return n;
}

static void a_path_comes_back(void **unused)
{
    autofree struct layer_row *rows = NULL;
    struct snapshot_row row;
    size_t n;

    (void)unused;
    take(1);
    take(2);
    assert_int_equal(snapshots(), 2);
    assert_int_equal(state_layers_path(state, record.id, record.layer, &rows, &n, NULL), 0);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].number, 2 - (int)i);
        assert_int_equal(rows[i].frozen, i > 0);
        assert_string_equal(rows[i].project, record.id);
    }
    assert_int_equal(state_snapshot_load(state, record.id, 2, false, &row, NULL), 0);
    assert_int_equal(row.parent, 1);
    assert_int_equal(row.layer_number, 1);
    assert_int_equal(row.children, 1);
    assert_string_equal(row.note, "n");
    snapshot_row_finish(&row);
    assert_int_equal(state_snapshot_note(state, record.id, 2, "other", NULL), 0);
    assert_int_equal(state_snapshot_note(state, record.id, 7, "other", NULL), -ERROR_NOT_FOUND);
    assert_int_equal(state_snapshot_load(state, record.id, 7, false, &row, NULL), -ERROR_NOT_FOUND);
}

/* What is begun is not listed, and leaves nothing when it is undone; a failure leaves the record too. */
static void a_broken_one_leaves_nothing(void **unused)
{
    struct snapshot_row row = {.number = 2, .cause = "person"}, found;
    struct snapshot_change change = {record.id, &row, 0, 5};
    autofree struct layer_row *rows = NULL;
    size_t n;

    (void)unused;
    take(1);
    change.layer = record.layer;
    record.step = STEP_SNAP_LAYER;
    assert_int_equal(state_save_with(state, &record, state_snapshot_begin, &change, NULL), 0);
    assert_int_equal(snapshots(), 1);
    assert_int_equal(state_snapshot_load(state, record.id, 2, false, &found, NULL), -ERROR_NOT_FOUND);
    assert_int_equal(state_snapshot_load(state, record.id, 2, true, &found, NULL), 0);
    snapshot_row_finish(&found);
    record.step = STEP_NONE;
    assert_int_equal(state_save_with(state, &record, state_snapshot_undo, &change, NULL), 0);
    assert_int_equal(state_snapshot_load(state, record.id, 2, true, &found, NULL), -ERROR_NOT_FOUND);
    assert_int_equal(state_layers(state, record.id, &rows, &n, NULL), 0);
    assert_int_equal(n, 2);
    /* once more: there is nothing to undo, and nothing is changed */
    assert_int_equal(state_save_with(state, &record, state_snapshot_undo, &change, NULL), -ERROR_CORRUPT);
}

/* What something stands on cannot be forgotten. */
static void layers_hold_each_other(void **unused)
{
    struct snapshot_change change = {.project = record.id};

    (void)unused;
    take(1);
    assert_true(state_save_with(state, &record, state_layer_forget, &change, NULL) < 0);
    assert_int_equal(snapshots(), 1);
    assert_int_equal(state_delete(state, record.id, NULL), 0);
    assert_int_equal(snapshots(), 0);
}

static void run_sql(const char *sql)
{
    const char *argv[] = {"sqlite3", path, sql, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};

    if (spawn_run(&spawn, 10000, 4096, NULL, NULL) < 0)
        skip(); /* the program is not there */
}

/* A project of before there were layers has one. */
static void an_old_file_is_brought_up(void **unused)
{
    autofree struct layer_row *rows = NULL;
    size_t n;

    (void)unused;
    state_close(state);
    run_sql("DROP TABLE budgets; ALTER TABLE requests DROP COLUMN batch;" /* of later versions */
            "DROP TABLE snapshots; DROP TABLE layers;"
            "ALTER TABLE projects DROP COLUMN layer; ALTER TABLE projects DROP COLUMN here;"
            "ALTER TABLE projects DROP COLUMN layer_last; ALTER TABLE projects DROP COLUMN snap_last;"
            "ALTER TABLE projects DROP COLUMN aim_layer; ALTER TABLE projects DROP COLUMN aim_snap;"
            "PRAGMA user_version = 3");
    assert_int_equal(state_open(path, &state, NULL), 0);
    assert_int_equal(state_layers_path(state, record.id, 0, &rows, &n, NULL), 0);
    assert_int_equal(n, 1);
    take(1);
    assert_int_equal(snapshots(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_path_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_broken_one_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(layers_hold_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(an_old_file_is_brought_up, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
