/* A build's steps around its programs, which are stand-ins here: what is published, what is left behind by a
 * failure, a cancellation and a kill, and who waits for whom. */
#include "test_base_scratch.h"

#include "image/image.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

/* Stands for the builder: the folder's "mode" says how it goes, "runs" counts. */
static const char mmdebstrap_stub[] =
    "#!/bin/sh\n"
    "here=$(dirname \"$0\"); for last in \"$@\"; do case $last in */root) root=$last;; esac; done\n"
    "echo \"$*\" >>\"$here/runs\"; cp \"$HUTCH_SETUP\"/* \"$HUTCH_RECIPE\" \"$here\" 2>/dev/null\n"
    "env | grep -c ^SECRET >\"$here/leaks\"\n"
    "mkdir -p \"$root/boot\"; echo k >\"$root/boot/vmlinuz-6.1-test\"; echo i "
    ">\"$root/boot/initrd.img-6.1-test\"\n"
    "printf 'debian http m.test 80\\nnode https n.test 443\\n' >\"$HUTCH_PACKAGE_HOSTS\"\n"
    "echo 'Need to get 10 B of archives.'\n"
    "case $(cat \"$here/mode\") in\n"
    "network) echo \"Err:1 http://m x InRelease Could not resolve 'm'\"; echo 'E: apt-get update failed'; "
    "exit 100;;\n"
    "noise) echo 'make: no rule for all'; echo 'I: main() received signal PIPE'; "
    "echo 'E: mmdebstrap failed to run'; exit 9;;\n"
    "space) echo 'E: write failed: No space left on device' >&2; exit 25;;\n"
    "words) echo 'debian http m.test; rm -rf 80' >\"$HUTCH_PACKAGE_HOSTS\";;\n"
    "two) echo k >\"$root/boot/vmlinuz-6.2-test\";;\n"
    "hang) echo $$ >\"$here/pid\"; exec sleep 1000;;\n"
    "gate) echo $$ >\"$here/pid\"; while [ ! -e \"$here/gate\" ]; do sleep 0.05; done;;\n"
    "esac\n";
static const char mke2fs_stub[] = "#!/bin/sh\nwhile [ \"$1\" != -d ]; do shift; done\necho image >\"$3\"\n";
static const char qemu_img_stub[] = "#!/bin/sh\nfor a in \"$@\"; do case $a in */disk.raw) f=$a;; "
                                    "*/disk.qcow2) t=$a;; esac; done\ncp \"$f\" \"$t\"\n";
static const char unshare_stub[] =
    "#!/bin/sh\nwhile :; do case $1 in -*) shift;; *) break;; esac; done\nexec \"$@\"\n";

static const char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static uint64_t free_bytes;

/* The file systems of a test have what the test says. */
int statvfs(const char *path, struct statvfs *buf)
{
    (void)path;
    *buf = (struct statvfs){.f_bsize = 4096,
                            .f_frsize = 4096,
                            .f_bavail = free_bytes / 4096,
                            .f_bfree = free_bytes / 4096,
                            .f_blocks = free_bytes / 4096};
    return 0;
}

struct world {
    char *folder, *stubs;
    struct paths paths;
    struct template template;
    struct template_setup setup[2];
    char *packages[3];
    atomic_bool cancel;
    char phases[512]; /* "prepare download …", each once in a row */
    const char *cancel_at;
};

static void put(const char *folder, const char *name, const char *text, mode_t mode)
{
    autofree char *path = file_join(folder, name);
    assert_ok(file_replace(path, text, strlen(text), mode, &err));
}

static char *get(const struct world *world, const char *name)
{
    autofree char *path = file_join(world->stubs, name);
    char *text = NULL;
    if (file_read(path, 65536, &text, NULL, NULL) < 0)
        return xstrdup("");
    return text;
}

static void set_mode(const struct world *world, const char *mode)
{
    put(world->stubs, "mode", mode, 0644);
}

static int world_setup(void **state)
{
    struct world *world = xnew(struct world);
    world->folder = xstrdup("/tmp/hutch-unit.XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    world->stubs = file_join(world->folder, "stubs");
    assert_ok(file_make_folder(world->stubs, 0755, &err));
    put(world->stubs, "mmdebstrap", mmdebstrap_stub, 0755);
    put(world->stubs, "mke2fs", mke2fs_stub, 0755);
    put(world->stubs, "qemu-img", qemu_img_stub, 0755);
    put(world->stubs, "unshare", unshare_stub, 0755);
    put(world->stubs, "apt-get", "#!/bin/sh\n", 0755);
    put(world->stubs, "apt-config",
        "#!/bin/sh\n[ \"$4\" = Acquire::http ] && echo 'Acquire::http::Proxy \"http://p\"'\n"
        "exit 0\n",
        0755);
    put(world->stubs, "newuidmap", "#!/bin/sh\n", 0755);
    set_mode(world, "good");
    world->paths = (struct paths){.config = file_join(world->folder, "config"),
                                  .data = file_join(world->folder, "data"),
                                  .state = file_join(world->folder, "state"),
                                  .cache = file_join(world->folder, "cache")};
    world->packages[0] = (char *)"git";
    world->packages[1] = (char *)"g++";
    world->setup[0] = (struct template_setup){(char *)"one", (char *)"echo 1 ; echo 2\n"};
    world->template = (struct template){.name = (char *)"t",
                                        .distribution = (char *)"debian",
                                        .suite = (char *)"trixie",
                                        .mirror = (char *)"http://m.test/debian",
                                        .security_mirror = (char *)"none",
                                        .architecture = (char *)"amd64",
                                        .packages = world->packages,
                                        .kernel_package = (char *)"linux-image-x",
                                        .setup = world->setup,
                                        .setup_count = 1,
                                        .user = (char *)"agent",
                                        .disk_min = 8ULL << 30,
                                        .recipe = (char *)"# the recipe\n"};
    memcpy(world->template.digest, digest, sizeof(digest));
    autofree char *path = xasprintf("%s:/usr/bin:/bin", world->stubs);
    setenv("PATH", path, 1);
    setenv("SECRET", "x", 1);
    free_bytes = 10ULL << 30;
    *state = world;
    return 0;
}

static int world_teardown(void **state)
{
    struct world *world = *state;
    int r = file_remove_tree(world->folder, NULL);
    free(world->paths.config);
    free(world->paths.data);
    free(world->paths.state);
    free(world->paths.cache);
    free(world->stubs);
    free(world->folder);
    free(world);
    return r;
}

static void on_progress(const char *phase, const char *text, uint64_t done, uint64_t total, void *user)
{
    struct world *world = user;
    size_t len = strlen(world->phases), n = strlen(phase);
    assert_non_null(text);
    assert_true(done <= total || !total);
    if (len < n + 1 || strncmp(world->phases + len - n - 1, phase, n) != 0)
        snprintf(world->phases + len, sizeof(world->phases) - len, "%s ", phase);
    if (!strcmp(phase, "wait"))
        put(world->stubs, "waited", "yes\n", 0644);
    if (world->cancel_at && !strcmp(phase, world->cancel_at))
        atomic_store(&world->cancel, true);
}

static int build(struct world *world, struct base **ret_base, struct error **err)
{
    world->phases[0] = '\0';
    return base_build(&world->paths, &world->template, on_progress, world, &world->cancel, ret_base, err);
}

/* Nothing in bases/ but finished bases and the lock. */
static void assert_no_temporaries(const struct world *world)
{
    autofree char *folder = base_folder(&world->paths);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    const struct dirent *entry;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] == '.' && entry->d_name[1] != '.' && entry->d_name[1] &&
            strcmp(entry->d_name, ".lock"))
            fail_msg("\"%s\" was left", entry->d_name);
    closedir(dir);
}

/* Waits until a file is there and has something in it. */
static void wait_for(const struct world *world, const char *name)
{
    for (;;) { /* the program's alarm ends a test that waits for nothing */
        autofree char *text = get(world, name);
        if (*text)
            return;
        poll(NULL, 0, 10);
    }
}

static void wait_until_gone(pid_t pid)
{
    while (kill(pid, 0) == 0 || errno != ESRCH)
        poll(NULL, 0, 10);
}

static void a_build_is_published(void **state)
{
    struct world *world = *state;
    auto(base) struct base *base = NULL;
    assert_ok(build(world, &base, &err));
    assert_string_equal(world->phases, "prepare download image publish ");
    assert_string_equal(base->kernel_version, "6.1-test");
    assert_true(base->virtual_size == 8ULL << 30);
    assert_int_equal(base->package_host_count, 2);
    assert_string_equal(base->package_hosts[1].host, "n.test");
    autofree char *disk = NULL;
    assert_ok(file_read(base->disk, 100, &disk, NULL, &err));
    assert_string_equal(disk, "image\n");
    struct stat st;
    assert_int_equal(stat(base->kernel, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0444);
    assert_int_equal(stat(base->folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_no_temporaries(world);
    autofree char *run = get(world, "runs");
    assert_non_null(strstr(run, "--include=linux-image-x,initramfs-tools,git,g++"));
    assert_non_null(strstr(run, "--aptopt=Acquire::http::Proxy \"http://p\""));
    assert_non_null(strstr(run, "deb http://m.test/debian trixie main"));
    assert_null(strstr(run, "security"));
    autofree char *setup = get(world, "000-one");
    assert_string_equal(setup, "echo 1 ; echo 2\n");
    autofree char *recipe = get(world, "recipe");
    assert_string_equal(recipe, "# the recipe\n");
    autofree char *leaks = get(world, "leaks");
    assert_string_equal(leaks, "0\n");
    /* A ready one is taken as it is. */
    auto(base) struct base *again = NULL;
    assert_ok(build(world, &again, &err));
    assert_string_equal(world->phases, "");
    assert_true(again->built_ns == base->built_ns);
}

static void a_damaged_base_is_built_anew(void **state)
{
    struct world *world = *state;
    auto(base) struct base *base = NULL;
    assert_ok(build(world, &base, &err));
    assert_int_equal(unlink(base->kernel), 0);
    auto(base) struct base *again = NULL;
    assert_ok(build(world, &again, &err));
    assert_true(file_exists(again->kernel));
    assert_true(again->built_ns > base->built_ns);
    assert_no_temporaries(world);
}

static void failures_say_what_and_leave_nothing(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *mode;
        enum error_code code;
        const char *words, *hint;
    } failures[] = {
        {"network", ERROR_NETWORK,
         "template \"t\": \"mmdebstrap\" failed (status 100): Err:1 http://m x InRelease "
         "Could not resolve 'm'",
         "is there a network, is the mirror reachable, is a proxy missing?"},
        {"noise", ERROR_FAILED, "failed (status 9): make: no rule for all", "| make: no rule for all"},
        {"space", ERROR_NO_SPACE, "No space left on device", "make room"},
        {"two", ERROR_INVALID, "has 2 kernels", "\"kernel\""},
        {"words", ERROR_INVALID, "\"debian http m.test; rm -rf 80\" is no host of packages", ""},
    };
    for (size_t i = 0; i < countof(failures); i++) {
        set_mode(world, failures[i].mode);
        struct base *base = NULL;
        auto(error) struct error *err = NULL;
        assert_int_equal(build(world, &base, &err), -(int)failures[i].code);
        assert_non_null(strstr(err->message, failures[i].words));
        assert_non_null(strstr(err->hint, failures[i].hint));
        assert_non_null(strstr(err->hint, "the whole log: "));
        assert_non_null(strstr(err->hint, "build-t.log"));
        assert_null(strstr(err->hint, "received signal"));       /* what every failure says */
        const char *lines = strstr(err->hint, "its last lines"); /* the way out and the log before it */
        assert_true(!lines || lines > strstr(err->hint, "build-t.log"));
        assert_no_temporaries(world);
        assert_int_equal(base_find(&world->paths, digest, &base, NULL), -ERROR_NOT_FOUND);
    }
    autofree char *log = file_join(world->paths.state, "build-t.log");
    assert_true(file_exists(log));
}

static void the_host_is_checked_first(void **state)
{
    struct world *world = *state;
    struct base *base = NULL;
    free_bytes = 1ULL << 30;
    auto(error) struct error *err = NULL;
    assert_int_equal(build(world, &base, &err), -ERROR_NO_SPACE);
    assert_non_null(strstr(err->message, "free, a build needs 3"));
    free_bytes = 10ULL << 30;
    put(world->stubs, "unshare", "#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n",
        0755);
    auto(error) struct error *closed = NULL;
    assert_int_equal(build(world, &base, &closed), -ERROR_MISSING);
    assert_non_null(strstr(closed->message, "no namespaces"));
    assert_non_null(strstr(closed->message, "Operation not permitted"));
    autofree char *runs = get(world, "runs");
    assert_string_equal(runs, "");
    setenv("PATH", world->stubs, 1);
    autofree char *qemu_img = file_join(world->stubs, "qemu-img");
    assert_int_equal(unlink(qemu_img), 0);
    auto(error) struct error *missing = NULL;
    assert_int_equal(build(world, &base, &missing), -ERROR_MISSING);
    assert_non_null(strstr(missing->message, "needs the program \"qemu-img\""));
    assert_non_null(strstr(missing->hint, "qemu-utils"));
}

static void a_cancelled_build_ends_its_children(void **state)
{
    struct world *world = *state;
    struct base *base = NULL;
    set_mode(world, "hang");
    world->cancel_at = "download";
    auto(error) struct error *err = NULL;
    assert_int_equal(build(world, &base, &err), -ERROR_CANCELLED);
    autofree char *pid = get(world, "pid");
    if (*pid) /* it may have been killed before it wrote it */
        wait_until_gone((pid_t)strtol(pid, NULL, 10));
    assert_no_temporaries(world);
    world->cancel_at = NULL;
    atomic_store(&world->cancel, false);
    set_mode(world, "good");
    assert_int_equal(build(world, &base, NULL), 0);
    base_free(base);
}

/* A build in a process of its own: 0 if it is built. */
static pid_t build_in_child(struct world *world)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct base *base = NULL;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(build(world, &base, NULL) < 0);
    }
    return pid;
}

static void a_killed_build_is_swept(void **state)
{
    struct world *world = *state;
    set_mode(world, "hang");
    pid_t child = build_in_child(world);
    wait_for(world, "pid");
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    set_mode(world, "good");
    struct base *base = NULL;
    assert_ok(build(world, &base, &err));
    base_free(base);
    /* The builder went with the one that had started it: else the second build would have waited for ever. */
    autofree char *pid = get(world, "pid");
    wait_until_gone((pid_t)strtol(pid, NULL, 10));
    assert_no_temporaries(world);
}

/* What a build left that a signal ended goes when hutchd starts, not only with the next build; and never
 * below one that runs. */
static void a_start_sweeps_too(void **state)
{
    struct world *world = *state;
    assert_ok(base_sweep(&world->paths, &err)); /* no folder yet */
    set_mode(world, "hang");
    pid_t child = build_in_child(world);
    wait_for(world, "pid");
    assert_ok(base_sweep(&world->paths, &err));
    autofree char *bases = base_folder(&world->paths);
    autofree char *left = xasprintf("%s/.build-left/deep", bases);
    assert_ok(file_make_folder(left, 0755, &err));
    assert_ok(base_sweep(&world->paths, &err));
    assert_true(file_exists(left));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    autofree char *pid = get(world, "pid");
    wait_until_gone((pid_t)strtol(pid, NULL, 10));
    assert_ok(base_sweep(&world->paths, &err));
    assert_no_temporaries(world);
}

static void the_second_builder_waits(void **state)
{
    struct world *world = *state;
    set_mode(world, "gate");
    pid_t first = build_in_child(world);
    wait_for(world, "pid");
    pid_t second = build_in_child(world);
    wait_for(world, "waited");
    assert_int_equal(waitpid(second, NULL, WNOHANG), 0);
    put(world->stubs, "gate", "open\n", 0644);
    int status;
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_int_equal(status, 0);
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_int_equal(status, 0);
    autofree char *runs = get(world, "runs");
    assert_null(strchr(strchr(runs, '\n') + 1, '\n'));
    assert_no_temporaries(world);
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, world_setup, world_teardown)

int main(void)
{
    alarm(120);
    const struct CMUnitTest tests[] = {
        world_test(a_build_is_published),
        world_test(a_damaged_base_is_built_anew),
        world_test(failures_say_what_and_leave_nothing),
        world_test(the_host_is_checked_first),
        world_test(a_cancelled_build_ends_its_children),
        world_test(a_killed_build_is_swept),
        world_test(a_start_sweeps_too),
        world_test(the_second_builder_waits),
    };
    return cmocka_run_group_tests_name("image build", tests, NULL, NULL);
}
