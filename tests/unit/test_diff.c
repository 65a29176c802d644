/* Two states of a disk compared without booting and without root. */
#include "diff_world.h"

#include "diff/child.h"

#define OLD_COMMIT "1111111111111111111111111111111111111111"
#define NEW_COMMIT "2222222222222222222222222222222222222222"

static void fill(const char *tree)
{
    put_file(tree, "etc/hostname", "demo\n");
    put_file(tree, "etc/motd", "hello\n");
    put_file(tree, "etc/systemd/system/multi-user.target.wants/x", "");
    put_file(tree, "var/lib/dpkg/status",
             "Package: bash\nStatus: install ok installed\nVersion: 5.2-1\nArchitecture: amd64\n"
             "Description: a shell\n Version: 9 of words\n\n"
             "Package: gone\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n\n"
             "Package: half\nStatus: deinstall ok config-files\nVersion: 1\nArchitecture: all\n");
    put_file(tree, "home/agent/work/.git/HEAD", "ref: refs/heads/main\n");
    put_file(tree, "home/agent/work/.git/refs/heads/main", OLD_COMMIT "\n");
    put_file(tree, "home/agent/work/a.c", "int a;\nint b;\n");
    put_file(tree, "home/agent/work/old/one", "1\n");
    put_file(tree, "home/agent/work/old/two", "2\n");
    put_file(tree, "home/agent/keep/deep/er/file", "kept\n");
    autofree char *link = file_join(tree, "etc/link");
    assert_int_equal(symlink("hostname", link), 0);
}

/* debugfs leaves the times of folders as they are, which no kernel does. */
#define TOUCH(folder) "sif " folder " mtime 20260202000000\n"

/* Nor does it number the uses of an inode. A folder comes after what is in it: the checksum of its entries
 * has the number in it, and debugfs goes through it no more. */
#define FRESH(file) "sif " file " generation 77\n" TOUCH(file)

/* The base, the raw it is made of, and a changed raw. */
struct states {
    char *tree, *old, *new, *base, *top;
};

static void states_make(struct states *states, const char *scratch, const char *commands)
{
    states->tree = file_join(scratch, "tree");
    assert_int_equal(mkdir(states->tree, 0755), 0);
    fill(states->tree);
    states->old = make_raw(scratch, states->tree);
    states->base = make_base(scratch, states->old);
    states->new = change_raw(scratch, states->old, "new.raw", commands);
    states->top = make_overlay(scratch, "1.qcow2", states->base, states->old, states->new);
}

static void states_finish(struct states *states)
{
    free(states->tree);
    free(states->old);
    free(states->new);
    free(states->base);
    free(states->top);
}

static char *told_of(struct states *states)
{
    struct world world;
    world_init(&world, (const char *[]){states->base, NULL},
               (const char *[]){states->top, states->base, NULL});
    json_t *lines = compare(&world);
    char *told = tell(lines);
    json_decref(lines);
    world_finish(&world);
    return told;
}

static void finds_what_came_and_went(void **state)
{
    struct states states;
    put_file(*state, "new-file", "new\n");
    autofree char *commands =
        xasprintf("mkdir /srv\nmkdir /srv/in\nwrite %s/new-file /srv/in/file\nrm /etc/motd\n"
                  "symlink /etc/other /srv/in\n" TOUCH("/") TOUCH("/etc"),
                  (char *)*state);
    states_make(&states, *state, commands);
    autofree char *told = told_of(&states);
    assert_string_equal(told, "removed /etc/motd\nadded /etc/other\nadded /srv\nadded /srv/in\n"
                              "added /srv/in/file\n");
    states_finish(&states);
}

/* A file that changed in a folder that did not is found by its inode's neighbourhood. */
static void finds_what_changed(void **state)
{
    struct states states;
    states_make(&states, *state,
                "sif /home/agent/keep/deep/er/file mtime 20260101000000\nsif /etc/hostname mode 0100600\n"
                "sif /etc uid 1000\nsif /etc/motd atime 20260101000000\n");
    struct world world;
    world_init(&world, (const char *[]){states.base, NULL}, (const char *[]){states.top, states.base, NULL});
    json_t *lines = compare(&world);
    autofree char *told = tell(lines);
    assert_string_equal(told, "changed /etc\nchanged /etc/hostname\nchanged /home/agent/keep/deep/er/file\n");
    json_t *row = row_of(lines, "/etc/hostname");
    assert_string_equal(text_of(json_object_get(row, "old"), "mode"), "0644");
    assert_string_equal(text_of(json_object_get(row, "new"), "mode"), "0600");
    assert_string_equal(text_of(json_object_get(row, "new"), "type"), "file");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(row, "new"), "size")), 5);
    row = row_of(lines, "/etc");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(row, "new"), "uid")), 1000);
    assert_string_equal(text_of(json_object_get(row, "new"), "type"), "folder");
    json_decref(lines);
    world_finish(&world);
    states_finish(&states);
}

/* ln and unlink keep the inode: it moved. */
static void finds_renames(void **state)
{
    struct states states;
    states_make(&states, *state,
                "ln /home/agent/work/a.c /home/agent/keep/b.c\nunlink /home/agent/work/a.c\n"
                "ln /home/agent/work/old /home/agent/new\nunlink /home/agent/work/old\n" TOUCH("/home/agent")
                    TOUCH("/home/agent/work") TOUCH("/home/agent/keep"));
    autofree char *told = told_of(&states);
    assert_string_equal(told, "renamed /home/agent/work/a.c -> /home/agent/keep/b.c\n"
                              "renamed /home/agent/work/old -> /home/agent/new\n");
    states_finish(&states);
}

/* The same name with another inode is one change, as an editor's way to save is; a folder made anew is told
 * by what it holds. */
static void finds_replaced_files(void **state)
{
    struct states states;
    put_file(*state, "text", "int a;\nint c;\n");
    autofree char *commands = xasprintf("rm /home/agent/work/a.c\nwrite %s/text /home/agent/work/a.c\n"
                                        "rm /etc/motd\nsymlink /etc/motd ../run/motd\n" TOUCH("/etc")
                                            TOUCH("/home/agent/work") TOUCH("/home/agent/work/a.c"),
                                        (char *)*state);
    states_make(&states, *state, commands);
    struct world world;
    world_init(&world, (const char *[]){states.base, NULL}, (const char *[]){states.top, states.base, NULL});
    json_t *lines = compare(&world);
    autofree char *told = tell(lines);
    assert_string_equal(told, "changed /etc/motd\nchanged /home/agent/work/a.c\n");
    json_t *row = row_of(lines, "/etc/motd");
    assert_string_equal(text_of(json_object_get(row, "old"), "type"), "file");
    assert_string_equal(text_of(json_object_get(row, "new"), "target"), "../run/motd");
    json_decref(lines);
    world_finish(&world);
    states_finish(&states);
}

static void tells_packages_services_heads(void **state)
{
    struct states states;
    put_file(*state, "status",
             "Package: bash\nStatus: install ok installed\nVersion: 5.2-2\nArchitecture: amd64\n\n"
             "Package: half\nStatus: install ok installed\nVersion: 2\nArchitecture: all\n");
    put_file(*state, "ref", NEW_COMMIT "\n");
    autofree char *commands = xasprintf(
        "rm /var/lib/dpkg/status\nwrite %s/status /var/lib/dpkg/status\n"
        "rm /home/agent/work/.git/refs/heads/main\n"
        "write %s/ref /home/agent/work/.git/refs/heads/main\n"
        "symlink /etc/systemd/system/multi-user.target.wants/evil.service "
        "/usr/lib/systemd/system/evil.service\nsymlink /etc/systemd/system/ssh.service /dev/null\n" TOUCH(
            "/var/lib/dpkg") TOUCH("/home/agent/work/.git/refs/heads")
            TOUCH("/home/agent/work/.git/refs/heads/main") TOUCH("/etc/systemd/system")
                TOUCH("/etc/systemd/system/multi-user.target.wants"),
        (char *)*state, (char *)*state);
    states_make(&states, *state, commands);
    autofree char *told = told_of(&states);
    assert_non_null(strstr(told, "git /home/agent/work main:1111111>main:2222222\n"));
    assert_non_null(strstr(told, "package bash amd64 5.2-1>5.2-2\n"));
    assert_non_null(strstr(told, "package gone all 1>\n"));
    assert_non_null(strstr(told, "package half all >2\n"));
    assert_non_null(strstr(told, "service enabled evil.service\n"));
    assert_non_null(strstr(told, "service masked ssh.service\n"));
    states_finish(&states);
}

/* rm -rf and mkdir of a folder: what is in it again is a change, what is not is gone. */
static void finds_folders_made_anew(void **state)
{
    struct states states;
    put_file(*state, "text", "another\n");
    autofree char *commands = xasprintf(
        "rm /home/agent/work/old/one\nrm /home/agent/work/old/two\nrmdir /home/agent/work/old\n"
        "mkdir /home/agent/work/pad\nmkdir /home/agent/work/old\nwrite %s/text /home/agent/work/old/pad\n"
        "write %s/text /home/agent/work/old/two\n" FRESH("/home/agent/work/old/two")
            FRESH("/home/agent/work/old/pad") FRESH("/home/agent/work/old") FRESH("/home/agent/work/pad")
                TOUCH("/home/agent/work"),
        (char *)*state, (char *)*state);
    states_make(&states, *state, commands);
    autofree char *told = told_of(&states);
    assert_string_equal(told, "removed /home/agent/work/old/one\nadded /home/agent/work/old/pad\n"
                              "changed /home/agent/work/old/two\nadded /home/agent/work/pad\n");
    states_finish(&states);
}

/* Nothing differs between a layer and an empty one on it; and little is read for it. */
static void finds_nothing(void **state)
{
    struct states states;
    states_make(&states, *state, "quit\n");
    struct world world;
    world_init(&world, (const char *[]){states.base, NULL}, (const char *[]){states.top, states.base, NULL});
    json_t *lines = compare(&world);
    assert_int_equal(json_array_size(lines), 1);
    json_t *head = json_array_get(lines, 0);
    assert_string_equal(text_of(head, "kind"), "diff");
    assert_int_equal(json_integer_value(json_object_get(head, "blocks")), 0);
    assert_int_equal(json_integer_value(json_object_get(head, "folders")), 0);
    json_decref(lines);
    world_finish(&world);
    states_finish(&states);
}

/* ---- by the confined program ---- */

static json_t *ask(const struct states *states, enum diff_mode mode, const char *path)
{
    char *const old[] = {states->base, NULL}, *const new[] = {states->top, states->base, NULL};
    struct child_ask question = {.program = TEST_PROGRAMS "/hutch-diff",
                                 .answer_max = 64 << 20,
                                 .mode = mode,
                                 .path = path,
                                 .old = old,
                                 .new = new};
    int fd = memfd_create("answer", MFD_CLOEXEC);
    assert_ok(child_run(&question, fd, &err));
    return read_lines(fd);
}

static void asks_the_program(void **state)
{
    struct states states;
    put_file(*state, "text", "int a;\nint c;\n");
    autofree char *commands =
        xasprintf("rm /home/agent/work/a.c\nwrite %s/text /home/agent/work/a.c\n" TOUCH("/home/agent/work")
                      TOUCH("/home/agent/work/a.c"),
                  (char *)*state);
    states_make(&states, *state, commands);
    json_t *lines = ask(&states, DIFF_CHANGES, NULL);
    autofree char *told = tell(lines);
    assert_string_equal(told, "changed /home/agent/work/a.c\n");
    json_decref(lines);
    lines = ask(&states, DIFF_TEXT, "/home/agent/work/a.c");
    assert_int_equal(json_array_size(lines), 3);
    assert_string_equal(text_of(json_array_get(lines, 0), "change"), "changed");
    json_t *text = json_object_get(json_array_get(lines, 2), "lines");
    assert_int_equal(json_array_size(text), 3);
    assert_string_equal(json_string_value(json_array_get(text, 0)), " int a;");
    assert_string_equal(json_string_value(json_array_get(text, 1)), "-int b;");
    assert_string_equal(json_string_value(json_array_get(text, 2)), "+int c;");
    json_decref(lines);
    lines = ask(&states, DIFF_STAT, "/etc/link");
    assert_string_equal(text_of(json_array_get(lines, 0), "type"), "link");
    assert_string_equal(text_of(json_array_get(lines, 0), "target"), "hostname");
    json_decref(lines);
    char *const new[] = {states.top, states.base, NULL};
    struct child_ask question = {.program = TEST_PROGRAMS "/hutch-diff",
                                 .answer_max = 64 << 20,
                                 .mode = DIFF_FILE,
                                 .path = "/etc/none",
                                 .new = new};
    int fd = memfd_create("answer", MFD_CLOEXEC);
    assert_error(child_run(&question, fd, &err), ERROR_NOT_FOUND, "there is no \"/etc/none\"");
    question.path = "/etc/link";
    assert_ok(child_run(&question, fd, &err));
    char bytes[16] = "";
    assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 5);
    assert_string_equal(bytes, "demo\n");
    close(fd);
    states_finish(&states);
}

/* A folder comes out as tar reads it. */
static void copies_folders(void **state)
{
    struct states states;
    states_make(&states, *state, "quit\n");
    char *const new[] = {states.top, states.base, NULL};
    struct child_ask question = {.program = TEST_PROGRAMS "/hutch-diff",
                                 .answer_max = 64 << 20,
                                 .mode = DIFF_FOLDER,
                                 .path = "/home/agent",
                                 .new = new};
    autofree char *archive = file_join(*state, "a.tar");
    int fd = open(archive, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_ok(child_run(&question, fd, &err));
    close(fd);
    RUN("tar", "-xf", archive, "-C", *state);
    autofree char *came = file_join(*state, "agent"), *was = file_join(states.tree, "home/agent");
    RUN("diff", "-r", came, was);
    states_finish(&states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(finds_what_came_and_went),
        scratch_test(finds_what_changed),
        scratch_test(finds_renames),
        scratch_test(finds_replaced_files),
        scratch_test(tells_packages_services_heads),
        scratch_test(finds_nothing),
        scratch_test(finds_folders_made_anew),
        scratch_test(asks_the_program),
        scratch_test(copies_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
