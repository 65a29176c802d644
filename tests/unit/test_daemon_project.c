/* The table of projects: the word for each state, names, folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "daemon/project.h"

#include <string.h>
#include <unistd.h>

static void add(struct projects *projects, const char *id, const char *name, const char *folder)
{
    struct record r = {
        .folder = (char *)(uintptr_t)folder, .template = (char *)(uintptr_t) "debian-13", .made = true};

    snprintf(r.id, sizeof(r.id), "%s", id);
    snprintf(r.uuid, sizeof(r.uuid), "uuid-%s", id);
    snprintf(r.name, sizeof(r.name), "%s", name);
    assert_int_equal(projects_add(projects, &r, NULL), 0);
}

static void names(void **unused)
{
    struct projects *projects = projects_create();
    struct record again = {.id = "3", .uuid = "u3", .name = "shop"};
    auto(error) struct error *err = NULL;
    char id[PROJECT_ID_MAX];

    (void)unused;
    add(projects, "1", "shop", NULL);
    add(projects, "2", "docs", NULL);
    assert_int_equal(projects_add(projects, &again, &err), -ERROR_EXISTS);
    assert_int_equal(projects_find(projects, "docs", id, NULL), 0);
    assert_string_equal(id, "2");
    assert_int_equal(projects_find(projects, "1", id, NULL), 0); /* an id is as good */
    assert_string_equal(id, "1");
    error_free(steal(&err));
    assert_int_equal(projects_find(projects, "shpo", id, &err), -ERROR_NOT_FOUND);
    assert_non_null(strstr(err->hint, "shop"));
    assert_true(projects_find_uuid(projects, "uuid-2", id));
    assert_string_equal(id, "2");
    projects_remove(projects, "2");
    assert_false(projects_find_uuid(projects, "uuid-2", id));
    assert_null(projects_lock(projects, "2"));
    projects_destroy(projects);
}

static void folders(void **unused)
{
    struct projects *projects = projects_create();
    char id[PROJECT_ID_MAX];

    (void)unused;
    add(projects, "1", "home", "/home/u");
    add(projects, "2", "shop", "/home/u/shop");
    add(projects, "3", "none", NULL);
    add(projects, "4", "later", "/home/u/shop");
    assert_true(projects_find_folder(projects, "/home/u/shop/src/x", true, id));
    assert_string_equal(id, "4"); /* of two the later one */
    assert_int_equal(projects_find(projects, "shop", id, NULL), 0);
    assert_true(projects_find_folder(projects, "/home/u/shop", true, id));
    assert_string_equal(id, "2"); /* or the one used last */
    assert_true(projects_find_folder(projects, "/home/u/shopping", true, id));
    assert_string_equal(id, "1");
    assert_false(projects_find_folder(projects, "/home/u/shop/src", false, id));
    assert_false(projects_find_folder(projects, "/home", true, id));
    assert_false(projects_find_folder(projects, "/", true, id));
    projects_destroy(projects);
}

static void states(void **unused)
{
    static const struct {
        const char *word;
        bool known, made, saved, busy;
        enum vm_state vm;
        enum step step;
        const char *failure;
    } cases[] = {
        {"new", true, false, false, true, VM_ABSENT, STEP_UP_BASE, NULL},
        {"new", true, false, false, false, VM_ABSENT, STEP_UP_BASE, NULL}, /* interrupted */
        {"new", true, false, false, false, VM_OFF, STEP_UP_START, NULL},
        {"failed", true, false, false, false, VM_OFF, STEP_UP_START, "no such processor"},
        {"run", true, false, false, false, VM_RUNNING, STEP_UP_REPOS, NULL},
        {"run", true, false, false, false, VM_RUNNING, STEP_UP_BOOT, "not ready"}, /* it can be looked at */
        {"starting", true, true, false, true, VM_OFF, STEP_UP_START, NULL},
        {"starting", true, true, true, true, VM_OFF, STEP_WAKE_RESTORE, NULL},
        {"run", true, true, false, false, VM_RUNNING, STEP_NONE, NULL},
        {"paused", true, true, false, false, VM_PAUSED, STEP_NONE, NULL},
        {"paused", true, false, false, false, VM_PAUSED, STEP_UP_CHAIN, NULL},
        {"stopping", true, true, false, true, VM_RUNNING, STEP_STOP_GUEST, NULL},
        {"stopping", true, true, false, true, VM_OFF, STEP_RM_FILES, NULL},
        {"saved", true, true, true, false, VM_OFF, STEP_NONE, NULL},
        {"saved", true, true, true, false, VM_ABSENT, STEP_NONE, NULL},
        {"off", true, true, false, false, VM_OFF, STEP_NONE, NULL},
        {"gone", true, true, false, false, VM_ABSENT, STEP_NONE, NULL},
        {"failed", true, true, false, false, VM_CRASHED, STEP_NONE, NULL},
        {"failed", false, true, false, false, VM_OFF, STEP_NONE, NULL}, /* libvirt has not answered */
        {"saving", true, true, false, true, VM_STOPPING, STEP_SUSPEND_SAVE, NULL},
        {"saving", false, true, false, false, VM_OFF, STEP_SUSPEND_SAVE, NULL},
        {"saved", false, true, true, false, VM_OFF, STEP_NONE, NULL},
    };

    (void)unused;
    for (size_t i = 0; i < countof(cases); i++) {
        struct project project = {
            .r = {.made = cases[i].made,
                  .saved = cases[i].saved,
                  .step = cases[i].step,
                  .failure = (char *)(uintptr_t)cases[i].failure},
            .known = cases[i].known,
            .vm = cases[i].vm,
            .busy = cases[i].busy ? "up" : NULL,
        };

        assert_string_equal(project_state(&project), cases[i].word);
    }
}

static void only_running_ones_take_commands(void **unused)
{
    struct project project = {.r = {.name = "shop", .made = true}, .known = true, .vm = VM_RUNNING};
    auto(error) struct error *err = NULL;

    (void)unused;
    assert_int_equal(project_require_running(&project, NULL), 0);
    project.vm = VM_PAUSED;
    assert_int_equal(project_require_running(&project, &err), -ERROR_STATE);
    assert_non_null(strstr(err->hint, "hutch resume shop"));
    error_free(steal(&err));
    project.vm = VM_OFF;
    assert_int_equal(project_require_running(&project, &err), -ERROR_STATE);
    assert_non_null(strstr(err->hint, "hutch start shop"));
}

static int limit(void **unused)
{
    (void)unused;
    alarm(30);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(folders),
        cmocka_unit_test(states),
        cmocka_unit_test(only_running_ones_take_commands),
    };

    return cmocka_run_group_tests(tests, limit, NULL);
}
