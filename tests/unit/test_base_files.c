/* Files and paths: replacement survives a kill at each step, removal follows nothing, places come from the
 * environment. */
#include "test_base_scratch.h"

#include "base/fd.h"
#include "base/paths.h"
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The steps of a replacement as the program makes them; the process dies before step number die_at. */
static int step, die_at = -1, fail_at = -1;
static uid_t fake_uid = (uid_t)-1;

static bool next_step_fails(void)
{
    if (step == die_at)
        kill(getpid(), SIGKILL);
    return step++ == fail_at;
}

int fsync(int fd)
{
    if (next_step_fails()) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int fchmod(int fd, mode_t mode)
{
    if (next_step_fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fchmod, fd, mode);
}

int rename(const char *from, const char *to)
{
    if (next_step_fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

uid_t geteuid(void)
{
    return fake_uid != (uid_t)-1 ? fake_uid : (uid_t)syscall(SYS_geteuid);
}

static void put_file(const char *folder, const char *name, const char *data)
{
    autofree char *path = file_join(folder, name);
    assert_ok(file_replace(path, data, strlen(data), 0644, &err));
}

static char *get_file(const char *path)
{
    char *data = NULL;
    assert_ok(file_read(path, 1 << 20, &data, NULL, &err));
    return data;
}

static void files_are_read_up_to_the_limit(void **state)
{
    autofree char *path = file_join(*state, "f");
    char *data = NULL;
    size_t len = 7;
    assert_error(file_read(path, 10, &data, &len, &err), ERROR_NOT_FOUND, path);
    put_file(*state, "f", "0123456789");
    assert_ok(file_read(path, 10, &data, &len, &err));
    assert_int_equal(len, 10);
    assert_string_equal(data, "0123456789");
    free(data);
    data = NULL;
    assert_error(file_read(path, 9, &data, &len, &err), ERROR_LIMIT, path);
    assert_null(data);
    assert_error(file_read(*state, 10, &data, &len, &err), ERROR_IO, *state);
    put_file(*state, "f", "");
    assert_ok(file_read(path, 0, &data, &len, &err));
    assert_int_equal(len, 0);
    free(data);
    /* a size of 0 that is not true */
    assert_ok(file_read("/proc/self/status", 1 << 20, &data, &len, &err));
    assert_true(len > 100 && strlen(data) == len);
    free(data);
    assert_error(file_read("/dev/zero", 100000, &data, &len, &err), ERROR_LIMIT, "/dev/zero");
}

static void settings_are_regular_files(void **state)
{
    autofree char *path = file_join(*state, "pipe");
    autofree char *file = file_join(*state, "f");
    char *data = NULL;
    size_t len = 7;
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); /* nobody writes into it */
    assert_error(file_read_regular(path, 10, &data, &len, &err), ERROR_INVALID, "no regular file");
    alarm(0);
    assert_error(file_read_regular("/dev/zero", 10, &data, &len, &err), ERROR_INVALID, "/dev/zero");
    assert_error(file_read_regular(*state, 10, &data, &len, &err), ERROR_IO, *state);
    assert_null(data);
    put_file(*state, "f", "12");
    assert_error(file_read_regular(file, 1, &data, &len, &err), ERROR_LIMIT, file);
    assert_ok(file_read_regular(file, 2, &data, &len, &err));
    assert_string_equal(data, "12");
    free(data);
}

static void replacement_sets_content_and_mode(void **state)
{
    autofree char *path = file_join(*state, "f");
    struct stat st;
    mode_t mask = umask(077);
    assert_ok(file_replace(path, "a\0b", 3, 0644, &err));
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_size, 3);
    autofree char *missing = file_join(*state, "none/f");
    assert_error(file_replace(missing, "x", 1, 0600, &err), ERROR_NOT_FOUND, "none");
}

/* How many entries a folder has. */
static int entries(const char *folder)
{
    const char *const argv[] = {"find", folder, "-mindepth", "1", NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    autofree char *out = NULL;
    assert_ok(spawn_run(&spawn, 10000, 1 << 20, &out, &err));
    int count = 0;
    for (const char *p = out; *p; p++)
        count += *p == '\n';
    return count;
}

/* Steps: mode, fsync, rename, fsync of the folder. */
static void replacement_survives_kills(void **state)
{
    autofree char *path = file_join(*state, "f");
    for (int at = 0; at <= 4; at++) {
        put_file(*state, "f", "old");
        pid_t pid = fork();
        if (!pid) {
            step = 0;
            die_at = at;
            file_replace(path, "new and longer", 14, 0600, NULL);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WIFSIGNALED(status), at < 4);
        autofree char *now = get_file(path);
        assert_string_equal(now, at < 3 ? "old" : "new and longer");
    }
}

static void failed_replacement_leaves_the_old(void **state)
{
    autofree char *path = file_join(*state, "f");
    put_file(*state, "f", "old");
    for (int at = 0; at < 3; at++) {
        step = 0;
        fail_at = at;
        auto(error) struct error *err = NULL;
        int rc = file_replace(path, "new", 3, 0600, &err);
        fail_at = -1;
        assert_int_equal(rc, at == 1 ? -ERROR_NO_SPACE : -ERROR_IO);
        assert_non_null(strstr(err->message, path));
        autofree char *now = get_file(path);
        assert_string_equal(now, "old");
        assert_int_equal(entries(*state), 1);
    }
}

static void folders_are_made(void **state)
{
    autofree char *deep = file_join(*state, "a/b//c/"), *b = file_join(*state, "a/b");
    struct stat st;
    mode_t mask = umask(077);
    assert_ok(file_make_folder(deep, 0711, &err));
    assert_ok(file_make_folder(deep, 0700, &err));
    umask(mask);
    assert_int_equal(stat(b, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    put_file(*state, "a/file", "x");
    autofree char *file = file_join(*state, "a/file"), *below = file_join(*state, "a/file/x");
    assert_error(file_make_folder(file, 0700, &err), ERROR_EXISTS, file);
    assert_error(file_make_folder(below, 0700, &err), ERROR_EXISTS, file);
}

static void removal_follows_no_links(void **state)
{
    autofree char *tree = file_join(*state, "tree"), *inner = file_join(*state, "tree/x/y"),
                  *outside = file_join(*state, "outside");
    autofree char *kept = file_join(outside, "kept"), *link = file_join(inner, "link"),
                  *top = file_join(*state, "top");
    assert_ok(file_make_folder(inner, 0700, &err));
    assert_ok(file_make_folder(outside, 0700, &err));
    put_file(outside, "kept", "x");
    put_file(inner, "f", "x");
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(symlink(outside, top), 0);
    assert_ok(file_remove_tree(tree, &err));
    assert_false(file_exists(tree));
    assert_true(file_exists(kept));
    assert_ok(file_remove_tree(top, &err));
    assert_false(file_exists(top));
    assert_true(file_exists(kept));
    assert_ok(file_remove_tree(kept, &err));
    assert_ok(file_remove_tree(kept, &err));
}

static void removal_stops_at_mounts(void **state)
{
    autofree char *tree = file_join(*state, "tree"), *point = file_join(*state, "tree/mount");
    assert_ok(file_make_folder(point, 0700, &err));
    if (mount("none", point, "tmpfs", 0, "size=64k") < 0) {
        print_message("no right to mount: skipped\n");
        skip();
    }
    put_file(point, "kept", "x");
    auto(error) struct error *err = NULL;
    int rc = file_remove_tree(tree, &err);
    autofree char *kept = file_join(point, "kept");
    bool there = file_exists(kept);
    umount2(point, MNT_DETACH);
    assert_int_equal(rc, -ERROR_BUSY);
    assert_non_null(strstr(err->message, point));
    assert_true(there);
}

static void removal_has_a_depth(void **state)
{
    autoclose int at = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    autofree char *top = file_join(*state, "d");
    assert_error(file_remove_tree(top, &err), ERROR_LIMIT, "256");
    assert_true(file_disk_usage(top) < 1 << 30);
    const char *const argv[] = {"rm", "-r", top, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    assert_ok(spawn_run(&spawn, 10000, 0, NULL, &err));
}

static void usage_counts_blocks(void **state)
{
    autofree char *sparse = file_join(*state, "sparse"), *none = file_join(*state, "none");
    assert_int_equal(file_disk_usage(none), 0);
    autoclose int fd = open(sparse, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, 1 << 30), 0);
    assert_true(file_disk_usage(sparse) < 1 << 20);
    autofree char *block = xcalloc(1, 1 << 20);
    memset(block, 1, 1 << 20);
    assert_ok(fd_write_all(fd, block, 1 << 20, &err));
    assert_true(file_disk_usage(sparse) >= 1 << 20);
    assert_true(file_disk_usage(*state) >= file_disk_usage(sparse));
    uint64_t space = 0;
    assert_ok(file_free_space(*state, &space, &err));
    assert_true(space > 0);
    assert_error(file_free_space(none, &space, &err), ERROR_NOT_FOUND, none);
}

static void hashes_are_right(void **state)
{
    autofree char *path = file_join(*state, "f");
    char hex[65];
    put_file(*state, "f", "");
    assert_ok(file_sha256(path, hex, &err));
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    put_file(*state, "f", "abc");
    assert_ok(file_sha256(path, hex, &err));
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    autofree char *large = xrealloc(NULL, 3000001, 1);
    memset(large, 'a', 3000000);
    large[3000000] = '\0';
    put_file(*state, "f", large);
    assert_ok(file_sha256(path, hex, &err));
    const char *const argv[] = {"sha256sum", path, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    autofree char *out = NULL;
    assert_ok(spawn_run(&spawn, 10000, 4096, &out, &err));
    assert_memory_equal(out, hex, 64);
    autofree char *none = file_join(*state, "none");
    assert_error(file_sha256(none, hex, &err), ERROR_NOT_FOUND, none);
}

static void names_are_joined(void **state)
{
    autofree char *a = file_join("/a", "b"), *b = file_join("/a/", "b"), *c = file_join("/", "b");
    assert_string_equal(a, "/a/b");
    assert_string_equal(b, "/a/b");
    assert_string_equal(c, "/b");
}

static const char *const variables[] = {"HUTCH_HOME",     "HOME",           "XDG_CONFIG_HOME",
                                        "XDG_DATA_HOME",  "XDG_STATE_HOME", "XDG_CACHE_HOME",
                                        "XDG_RUNTIME_DIR"};

static void clear_environment(void)
{
    for (size_t i = 0; i < countof(variables); i++)
        unsetenv(variables[i]);
}

static void hutch_home_holds_everything(void **state)
{
    clear_environment();
    setenv("HUTCH_HOME", "/tmp/hh//", 1);
    setenv("XDG_DATA_HOME", "/elsewhere", 1);
    auto(paths) struct paths *paths = NULL;
    assert_ok(paths_find(&paths, &err));
    assert_string_equal(paths->config, "/tmp/hh/config");
    assert_string_equal(paths->data, "/tmp/hh/data");
    assert_string_equal(paths->state, "/tmp/hh/state");
    assert_string_equal(paths->cache, "/tmp/hh/cache");
    assert_string_equal(paths->run, "/tmp/hh/run");
    assert_string_equal(paths->socket, "/tmp/hh/run/hutchd.sock");
    assert_string_equal(paths->lock, "/tmp/hh/run/hutchd.lock");
}

static void users_have_xdg_places(void **state)
{
    clear_environment();
    fake_uid = 54321;
    setenv("HOME", "/home/u", 1);
    setenv("XDG_STATE_HOME", "/s", 1);
    setenv("XDG_CACHE_HOME", "", 1);
    setenv("XDG_RUNTIME_DIR", "/run/x", 1);
    auto(paths) struct paths *paths = NULL;
    assert_ok(paths_find(&paths, &err));
    assert_string_equal(paths->config, "/home/u/.config/hutch");
    assert_string_equal(paths->data, "/home/u/.local/share/hutch");
    assert_string_equal(paths->state, "/s/hutch");
    assert_string_equal(paths->cache, "/home/u/.cache/hutch");
    assert_string_equal(paths->run, "/run/x/hutch");
    unsetenv("XDG_RUNTIME_DIR");
    auto(paths) struct paths *without = NULL;
    assert_ok(paths_find(&without, &err));
    assert_string_equal(without->run, "/home/u/.cache/hutch/run");
    fake_uid = (uid_t)-1;
}

static void root_has_system_places(void **state)
{
    clear_environment();
    fake_uid = 0;
    setenv("HOME", "/root", 1);
    setenv("XDG_DATA_HOME", "/root/data", 1);
    auto(paths) struct paths *paths = NULL;
    assert_ok(paths_find(&paths, &err));
    assert_string_equal(paths->config, "/etc/hutch");
    assert_string_equal(paths->data, "/var/lib/hutch/data");
    assert_string_equal(paths->state, "/var/lib/hutch/state");
    assert_string_equal(paths->cache, "/var/lib/hutch/cache");
    assert_string_equal(paths->run, "/run/hutch");
    fake_uid = (uid_t)-1;
}

static void bad_environments_are_named(void **state)
{
    struct paths *paths = NULL;
    fake_uid = 54321;
    clear_environment();
    assert_error(paths_find(&paths, &err), ERROR_INVALID, "HOME is not set");
    for (size_t i = 0; i < countof(variables); i++) {
        clear_environment();
        setenv("HOME", "/home/u", 1);
        setenv(variables[i], "relative/path", 1);
        assert_error(paths_find(&paths, &err), ERROR_INVALID, variables[i]);
    }
    /* everything without HOME */
    clear_environment();
    for (size_t i = 2; i < countof(variables); i++)
        setenv(variables[i], "/x", 1);
    assert_ok(paths_find(&paths, &err));
    paths_free(paths);
    paths = NULL;
    clear_environment();
    char large[120] = "/";
    memset(large + 1, 'x', 90);
    setenv("HUTCH_HOME", large, 1);
    auto(error) struct error *err = NULL;
    assert_int_equal(paths_find(&paths, &err), 0);
    paths_free(paths);
    paths = NULL;
    memset(large + 1, 'x', 91 + 1);
    setenv("HUTCH_HOME", large, 1);
    assert_int_equal(paths_find(&paths, &err), -ERROR_INVALID);
    assert_non_null(strstr(err->message, large));
    assert_non_null(strstr(err->hint, "HUTCH_HOME"));
    assert_null(paths);
    fake_uid = (uid_t)-1;
    clear_environment();
}

static void folders_of_hutch_are_private(void **state)
{
    clear_environment();
    autofree char *home = file_join(*state, "home");
    setenv("HUTCH_HOME", home, 1);
    auto(paths) struct paths *paths = NULL;
    struct stat st;
    mode_t mask = umask(0);
    assert_ok(paths_find(&paths, &err));
    assert_false(file_exists(home));
    assert_ok(paths_create(paths, &err));
    umask(mask);
    const char *const folders[] = {paths->config, paths->state, paths->cache, paths->run};
    for (size_t i = 0; i < countof(folders); i++) {
        assert_int_equal(stat(folders[i], &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
    mode_t data = geteuid() ? 0700 : 0711;
    assert_int_equal(stat(paths->data, &st), 0);
    assert_int_equal(st.st_mode & 07777, data);
    assert_int_equal(stat(home, &st), 0);
    assert_int_equal(st.st_mode & 07777, data);

    assert_int_equal(chmod(paths->run, 0777), 0);
    assert_ok(paths_create(paths, &err));
    assert_int_equal(stat(paths->run, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(rmdir(paths->run), 0);
    assert_int_equal(symlink("/tmp", paths->run), 0);
    assert_error(paths_create(paths, &err), ERROR_DENIED, paths->run);
}

/* This program again, from another folder: prints where it finds the helpers. */
static int print_programs(void)
{
    auto(paths) struct paths *paths = NULL;
    auto(error) struct error *err = NULL;
    autofree char *helper = NULL, *beside = NULL;
    if (paths_find(&paths, &err) < 0)
        return 1;
    int rc = paths_program(paths, "hutch-worker", &helper, &err);
    printf("%s\n%s\n%s\n", paths->programs, paths->templates, rc < 0 ? err->message : helper);
    return 0;
}

static char *run_copy(const char *program, const char *home)
{
    const char *const argv[] = {program, "--programs", NULL};
    autofree char *variable = xasprintf("HUTCH_HOME=%s", home);
    const char *const env[] = {variable, NULL};
    struct spawn spawn = {.argv = argv, .env = env, .in = -1, .out = -1, .err = -1};
    char *out = NULL;
    assert_ok(spawn_run(&spawn, 20000, 65536, &out, &err));
    return out;
}

static void helpers_are_found_beside(void **state)
{
    clear_environment();
    autofree char *folder = file_join(*state, "build"), *self = NULL, *copy = file_join(folder, "hutch");
    autofree char *daemon = file_join(folder, "hutchd"), *worker = file_join(folder, "hutch-worker"),
                  *templates = file_join(folder, "templates");
    size_t len;
    assert_ok(file_make_folder(folder, 0700, &err));
    assert_ok(file_read("/proc/self/exe", 256 << 20, &self, &len, &err));
    assert_ok(file_replace(copy, self, len, 0755, &err));

    autofree char *alone = run_copy(copy, *state);
    autofree char *want = xasprintf("%s\n%s/templates\nthe program \"hutch-worker\" is not in \"%s\"\n",
                                    HUTCH_LIBEXECDIR, HUTCH_DATADIR, HUTCH_LIBEXECDIR);
    if (!file_exists(HUTCH_LIBEXECDIR))
        assert_string_equal(alone, want);

    assert_ok(file_replace(daemon, "x", 1, 0644, &err));
    autofree char *no_program = run_copy(copy, *state);
    if (!file_exists(HUTCH_LIBEXECDIR))
        assert_string_equal(no_program, want);

    assert_ok(file_replace(daemon, "x", 1, 0755, &err));
    assert_ok(file_replace(worker, "x", 1, 0755, &err));
    autofree char *installed = run_copy(copy, *state);
    autofree char *want_installed = xasprintf("%s\n%s/templates\n%s\n", folder, HUTCH_DATADIR, worker);
    assert_string_equal(installed, want_installed);

    assert_ok(file_make_folder(templates, 0700, &err));
    autofree char *built = run_copy(copy, *state);
    autofree char *want_built = xasprintf("%s\n%s\n%s\n", folder, templates, worker);
    assert_string_equal(built, want_built);
}

int main(int argc, char **argv)
{
    alarm(120);
    if (argc > 1 && !strcmp(argv[1], "--programs"))
        return print_programs();
    const struct CMUnitTest tests[] = {
        scratch_test(files_are_read_up_to_the_limit),
        scratch_test(settings_are_regular_files),
        scratch_test(replacement_sets_content_and_mode),
        scratch_test(replacement_survives_kills),
        scratch_test(failed_replacement_leaves_the_old),
        scratch_test(folders_are_made),
        scratch_test(removal_follows_no_links),
        scratch_test(removal_stops_at_mounts),
        scratch_test(removal_has_a_depth),
        scratch_test(usage_counts_blocks),
        scratch_test(hashes_are_right),
        scratch_test(names_are_joined),
        scratch_test(hutch_home_holds_everything),
        scratch_test(users_have_xdg_places),
        scratch_test(root_has_system_places),
        scratch_test(bad_environments_are_named),
        scratch_test(folders_of_hutch_are_private),
        scratch_test(helpers_are_found_beside),
    };
    return cmocka_run_group_tests_name("base files", tests, NULL, NULL);
}
