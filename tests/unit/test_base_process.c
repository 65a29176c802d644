/* Descriptors and child processes: a child gets what it was given, under the numbers it was told, and nothing
 * else. */
#include "test_base_scratch.h"

#include "base/fd.h"
#include "base/spawn.h"
#include "base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int open_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* In the child: its descriptors ("0 1 2 3"), what 3, 4, … hold, and what of signals it inherited. */
static int child_report(void)
{
    struct stat st;
    for (int fd = 0; fd < 1024; fd++)
        if (fstat(fd, &st) == 0)
            printf("%d ", fd);
    printf("|");
    for (int fd = 3; fd < 12; fd++) {
        char data[16] = "";
        if (pread(fd, data, sizeof(data) - 1, 0) > 0)
            printf("%s ", data);
    }
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    struct sigaction action;
    sigaction(SIGPIPE, NULL, &action);
    printf("|%s %s %s", sigismember(&mask, SIGTERM) ? "blocked" : "free",
           action.sa_handler == SIG_DFL ? "default" : "ignored", getsid(0) == getpid() ? "leader" : "member");
    char *cwd = getcwd(NULL, 0);
    printf("|%s|%s", cwd, getenv("X") ? getenv("X") : "");
    free(cwd);
    fflush(stdout);
    return 0;
}

static char *run_report(struct spawn *spawn)
{
    static const char *const argv[] = {"/proc/self/exe", "--report", NULL};
    char *out = NULL;
    spawn->argv = argv;
    assert_ok(spawn_run(spawn, 20000, 65536, &out, &err));
    return out;
}

/* A file with this content as a descriptor of exactly this number. */
static void put_fd(const char *folder, int number, const char *data)
{
    autofree char *path = xasprintf("%s/fd%d", folder, number);
    assert_ok(file_replace(path, data, strlen(data), 0600, &err));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (fd != number) {
        assert_int_equal(dup3(fd, number, O_CLOEXEC), number);
        close(fd);
    }
}

static void children_get_only_what_is_given(void **state)
{
    /* one that forgot O_CLOEXEC */
    int leak = open("/dev/null", O_RDONLY);
    int high = fcntl(leak, F_DUPFD, 300);
    assert_true(leak >= 0 && high >= 300);
    int before = open_count();
    struct spawn spawn = {.in = -1, .out = -1, .err = -1};
    autofree char *out = run_report(&spawn);
    assert_memory_equal(out, "0 1 2 ||", 8);
    assert_int_equal(open_count(), before);
    close(leak);
    close(high);
}

static void kept_descriptors_get_their_numbers(void **state)
{
    /* numbers that are targets themselves: in place, swapped, in a ring, twice the same one */
    static const struct {
        int keep[4];
        size_t count;
        const char *want;
    } cases[] = {
        {{20}, 1, "0 1 2 3 |c20 |"},
        {{3}, 1, "0 1 2 3 |c3 |"},
        {{4, 3}, 2, "0 1 2 3 4 |c4 c3 |"},
        {{4, 5, 3}, 3, "0 1 2 3 4 5 |c4 c5 c3 |"},
        {{5, 5, 20, 3}, 4, "0 1 2 3 4 5 6 |c5 c5 c20 c3 |"},
    };
    static const int numbers[] = {3, 4, 5, 20};
    int saved[countof(numbers)];
    for (size_t i = 0; i < countof(numbers); i++) {
        saved[i] = fcntl(numbers[i], F_DUPFD_CLOEXEC, 100);
        autofree char *content = xasprintf("c%d", numbers[i]);
        put_fd(*state, numbers[i], content);
    }
    for (size_t i = 0; i < countof(cases); i++) {
        struct spawn spawn = {.in = -1, .out = -1, .err = -1, .keep_count = cases[i].count};
        memcpy(spawn.keep, cases[i].keep, sizeof(cases[i].keep));
        autofree char *out = run_report(&spawn);
        if (strncmp(out, cases[i].want, strlen(cases[i].want)))
            fail_msg("%s instead of %s", out, cases[i].want);
    }
    for (size_t i = 0; i < countof(numbers); i++) {
        close(numbers[i]);
        if (saved[i] >= 0) {
            dup3(saved[i], numbers[i], O_CLOEXEC);
            close(saved[i]);
        }
    }
}

static void standard_descriptors_may_be_crossed(void **state)
{
    /* stdin from a kept number's place, stdout and stderr swapped */
    autofree char *path = file_join(*state, "out");
    const char *const argv[] = {"sh", "-c", "cat; echo to-stdout; echo to-stderr >&2", NULL};
    put_fd(*state, 3, "from-stdin");
    int out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), pid_status;
    struct spawn spawn = {.argv = argv, .in = 3, .out = out, .err = out, .keep = {out}, .keep_count = 1};
    pid_t pid;
    assert_ok(spawn_start(&spawn, &pid, &err));
    assert_ok(spawn_wait(pid, &pid_status, &err));
    assert_int_equal(pid_status, 0);
    close(out);
    close(3);
    autofree char *data = NULL;
    assert_ok(file_read(path, 4096, &data, NULL, &err));
    assert_string_equal(data, "from-stdinto-stdout\nto-stderr\n");
}

static void signals_and_surroundings_are_reset(void **state)
{
    sigset_t mask, old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &old);
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    const char *const env[] = {"X=y", NULL};
    struct spawn spawn = {.in = -1, .out = -1, .err = -1, .cwd = "/usr", .env = env, .new_session = true};
    autofree char *out = run_report(&spawn);
    assert_non_null(strstr(out, "|free default leader|/usr|y"));
    spawn = (struct spawn){.in = -1, .out = -1, .err = -1};
    autofree char *plain = run_report(&spawn);
    assert_non_null(strstr(plain, "|free default member|"));
    signal(SIGPIPE, handler);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void missing_programs_are_named(void **state)
{
    const char *const by_name[] = {"hutch-no-such-program", NULL}, *const by_path[] = {"/no/such", NULL};
    struct spawn spawn = {.argv = by_name, .in = -1, .out = -1, .err = -1};
    pid_t pid = 0;
    int before = open_count();
    assert_error(spawn_start(&spawn, &pid, &err), ERROR_MISSING, "hutch-no-such-program");
    assert_error(spawn_run(&spawn, 1000, 0, NULL, &err), ERROR_MISSING, "hutch-no-such-program");
    spawn.argv = by_path;
    assert_error(spawn_start(&spawn, &pid, &err), ERROR_MISSING, "/no/such");
    const char *const truth[] = {"true", NULL};
    spawn.argv = truth;
    spawn.cwd = "/no/folder";
    assert_error(spawn_start(&spawn, &pid, &err), ERROR_NOT_FOUND, "/no/folder");
    spawn.cwd = NULL;
    autofree char *plain = file_join(*state, "plain");
    assert_ok(file_replace(plain, "x", 1, 0644, &err));
    const char *const not_executable[] = {plain, NULL};
    spawn.argv = not_executable;
    assert_error(spawn_start(&spawn, &pid, &err), ERROR_MISSING, plain);
    assert_int_equal(open_count(), before);
}

static int run_shell(const char *script, int timeout_ms, size_t limit, bool session, char **ret_out,
                     struct error **err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1, .new_session = session};
    return spawn_run(&spawn, timeout_ms, limit, ret_out, err);
}

static void statuses_become_errors(void **state)
{
    autofree char *out = NULL;
    assert_ok(run_shell("echo one; echo two >&2; cat", 20000, 100, false, &out, &err));
    assert_string_equal(out, "one\n");
    assert_error(run_shell("echo why >&2; echo 'the last' >&2; exit 3", 20000, 0, false, NULL, &err),
                 ERROR_FAILED, "\"sh\" failed with status 3: the last");
    assert_error(run_shell("exit 4", 20000, 0, false, NULL, &err), ERROR_FAILED,
                 "\"sh\" failed with status 4");
    assert_error(run_shell("kill -9 $$", 20000, 0, false, NULL, &err), ERROR_FAILED, "signal 9");
    assert_error(run_shell("printf 'x\\033[2J\\n\\n' >&2; exit 1", 20000, 0, false, NULL, &err), ERROR_FAILED,
                 "x\\e[2J");
}

static void output_has_a_limit(void **state)
{
    autofree char *out = NULL;
    assert_ok(run_shell("printf 1234567890", 20000, 10, false, &out, &err));
    assert_string_equal(out, "1234567890");
    char *none = NULL;
    assert_error(run_shell("yes", 20000, 100000, false, &none, &err), ERROR_LIMIT, "\"sh\"");
    assert_null(none);
    /* much on both, in both orders, is no deadlock; of stderr only the end counts */
    assert_error(run_shell("head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; echo end >&2; exit 1",
                           20000, 0, false, NULL, &err),
                 ERROR_FAILED, "end");
}

static void time_is_limited(void **state)
{
    int64_t start = units_monotonic_ns();
    assert_error(run_shell("exec sleep 100", 200, 0, false, NULL, &err), ERROR_TIMED_OUT, "200 ms");
    /* with a session of its own the grandchild goes, too */
    autofree char *pid_file = file_join(*state, "pid");
    autofree char *script =
        xasprintf("sleep 100 & echo $! >%s.new; mv %s.new %s; wait", pid_file, pid_file, pid_file);
    assert_error(run_shell(script, 1500, 0, true, NULL, &err), ERROR_TIMED_OUT, "sh");
    autofree char *data = NULL;
    assert_ok(file_read(pid_file, 100, &data, NULL, &err));
    pid_t grandchild = (pid_t)strtol(data, NULL, 10);
    assert_true(grandchild > 1);
    /* gone, or a zombie that init has yet to see */
    autofree char *stat_path = xasprintf("/proc/%d/stat", (int)grandchild);
    for (bool gone = false; !gone;) {
        char *stat_line = NULL;
        gone = file_read(stat_path, 4096, &stat_line, NULL, NULL) < 0 || strstr(stat_line, ") Z ");
        free(stat_line);
        poll(NULL, 0, gone ? 0 : 10);
    }
    assert_true(units_monotonic_ns() - start < 30 * INT64_C(1000000000));
}

static void who_keeps_a_pipe_is_not_waited_for(void **state)
{
    autofree char *out = NULL;
    int64_t start = units_monotonic_ns();
    assert_ok(run_shell("sleep 60 & echo $!", 30000, 100, false, &out, &err));
    assert_true(units_monotonic_ns() - start < 20 * INT64_C(1000000000));
    kill((pid_t)strtol(out, NULL, 10), SIGKILL);
}

static void messages_carry_descriptors(void **state)
{
    int pair[2], got[FD_PASS_MAX];
    char data[64];
    size_t len, count;
    assert_ok(fd_socketpair(SOCK_SEQPACKET, true, pair, &err));
    assert_int_equal(fd_receive(pair[1], data, sizeof(data), &len, got, FD_PASS_MAX, &count, NULL), 0);
    put_fd(*state, 50, "through");
    const int fds[] = {50, 50, 50, 50};
    assert_int_equal(fd_send(pair[0], "hello", 5, fds, 4, NULL), 1);
    assert_int_equal(fd_send(pair[0], "next", 4, NULL, 0, NULL), 1);
    assert_int_equal(fd_receive(pair[1], data, sizeof(data), &len, got, FD_PASS_MAX, &count, NULL), 1);
    assert_int_equal(len, 5);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pread(got[i], data, 7, 0), 7);
        assert_memory_equal(data, "through", 7);
        assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
        close(got[i]);
    }
    assert_int_equal(fd_receive(pair[1], data, sizeof(data), &len, got, FD_PASS_MAX, &count, NULL), 1);
    assert_int_equal(len, 4);
    assert_int_equal(count, 0);

    /* refused ones leave nothing open */
    int before = open_count();
    assert_int_equal(fd_send(pair[0], "more", 4, fds, 3, NULL), 1);
    assert_error(fd_receive(pair[1], data, sizeof(data), &len, got, 2, &count, &err), ERROR_PROTOCOL,
                 "more than 2");
    assert_int_equal(fd_send(pair[0], "none", 4, fds, 1, NULL), 1);
    assert_error(fd_receive(pair[1], data, sizeof(data), &len, NULL, 0, NULL, &err), ERROR_PROTOCOL,
                 "more than 0");
    assert_int_equal(fd_send(pair[0], "a long one", 10, fds, 1, NULL), 1);
    assert_error(fd_receive(pair[1], data, 4, &len, got, 4, &count, &err), ERROR_PROTOCOL, "longer than 4");
    assert_int_equal(open_count(), before);

    while (fd_send(pair[0], data, sizeof(data), NULL, 0, NULL) == 1)
        ;
    assert_int_equal(fd_send(pair[0], data, sizeof(data), NULL, 0, NULL), 0);
    close(pair[1]);
    assert_error(fd_send(pair[0], "x", 1, NULL, 0, &err), ERROR_IO, "");
    close(pair[0]);
    close(50);
}

/* More than FD_PASS_MAX, from somebody with code of his own. */
static void many_descriptors_are_refused(void **state)
{
    int pair[2], fds[20], got[FD_PASS_MAX];
    char data[8] = "x", control[CMSG_SPACE(sizeof(fds))] = "";
    size_t len, count;
    assert_ok(fd_socketpair(SOCK_SEQPACKET, true, pair, &err));
    for (size_t i = 0; i < countof(fds); i++)
        fds[i] = pair[0];
    struct iovec iov = {data, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    int before = open_count();
    assert_int_equal(sendmsg(pair[0], &message, 0), 1);
    assert_error(fd_receive(pair[1], data, sizeof(data), &len, got, FD_PASS_MAX, &count, &err),
                 ERROR_PROTOCOL, "more than 4");
    assert_int_equal(open_count(), before);
    close(pair[0]);
    auto(error) struct error *err = NULL;
    assert_int_equal(fd_receive(pair[1], data, sizeof(data), &len, got, FD_PASS_MAX, &count, &err),
                     -ERROR_IO);
    assert_int_equal(err->sys, 0);
    close(pair[1]);
}

static void sockets_listen_and_connect(void **state)
{
    autofree char *path = file_join(*state, "s"), *none = file_join(*state, "none");
    int server, client, again;
    struct stat st;
    assert_error(fd_unix_connect(path, SOCK_STREAM, &client, &err), ERROR_NOT_FOUND, path);
    assert_ok(fd_unix_listen(path, SOCK_STREAM, 0600, &server, &err));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(fcntl(server, F_GETFL) & O_NONBLOCK && fcntl(server, F_GETFD) & FD_CLOEXEC);
    assert_ok(fd_unix_connect(path, SOCK_STREAM, &client, &err));
    assert_true(fcntl(client, F_GETFL) & O_NONBLOCK && fcntl(client, F_GETFD) & FD_CLOEXEC);
    autoclose int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    assert_true(accepted >= 0);
    uid_t uid;
    pid_t pid;
    assert_ok(fd_peer(accepted, &uid, &pid, &err));
    assert_int_equal(uid, geteuid());
    assert_int_equal(pid, getpid());
    assert_error(fd_peer(STDIN_FILENO, &uid, &pid, &err), ERROR_IO, "who");
    assert_error(fd_unix_listen(path, SOCK_STREAM, 0600, &again, &err), ERROR_BUSY, path);
    close(client);
    close(server);
    /* stale now */
    assert_error(fd_unix_connect(path, SOCK_STREAM, &client, &err), ERROR_IO, path);
    assert_ok(fd_unix_listen(path, SOCK_SEQPACKET, 0600, &server, &err));
    close(server);
    assert_ok(file_replace(none, "x", 1, 0600, &err));
    assert_error(fd_unix_listen(none, SOCK_STREAM, 0600, &server, &err), ERROR_EXISTS, none);
    assert_true(file_exists(none));
}

static void socket_paths_have_a_length(void **state)
{
    char path[200];
    int fd;
    memset(path, 'x', sizeof(path));
    size_t len = snprintf(path, sizeof(path), "%s/", (char *)*state);
    path[len] = 'x';
    path[FD_UNIX_PATH_MAX] = '\0';
    assert_ok(fd_unix_listen(path, SOCK_STREAM, 0600, &fd, &err));
    close(fd);
    path[FD_UNIX_PATH_MAX] = 'x';
    path[FD_UNIX_PATH_MAX + 1] = '\0';
    assert_error(fd_unix_connect(path, SOCK_STREAM, &fd, &err), ERROR_INVALID, path);
    assert_error(fd_unix_connect("", SOCK_STREAM, &fd, &err), ERROR_INVALID, "\"\"");
    auto(error) struct error *err = NULL;
    assert_int_equal(fd_unix_listen(path, SOCK_STREAM, 0600, &fd, &err), -ERROR_INVALID);
    assert_non_null(strstr(err->message, path));
    assert_non_null(strstr(err->hint, "HUTCH_HOME"));
}

static void locks_exclude(void **state)
{
    autofree char *path = file_join(*state, "lock");
    int a, b, c;
    assert_ok(fd_lock_file(path, true, false, &a, &err));
    assert_error(fd_lock_file(path, true, false, &b, &err), ERROR_BUSY, path);
    assert_error(fd_lock_file(path, false, false, &b, &err), ERROR_BUSY, path);
    close(a);
    assert_ok(fd_lock_file(path, false, false, &b, &err));
    assert_ok(fd_lock_file(path, false, true, &c, &err));
    assert_error(fd_lock_file(path, true, false, &a, &err), ERROR_BUSY, path);
    close(b);
    close(c);
    assert_ok(fd_lock_file(path, true, true, &a, &err));
    close(a);
}

static void whole_blocks_are_read_and_written(void **state)
{
    int pair[2];
    char data[8] = "";
    assert_ok(fd_socketpair(SOCK_STREAM, false, pair, &err));
    assert_ok(fd_write_all(pair[0], "abc", 3, &err));
    assert_ok(fd_write_all(pair[0], "def", 3, &err));
    assert_ok(fd_read_all(pair[1], data, 5, &err));
    assert_string_equal(data, "abcde");
    close(pair[0]);
    assert_error(fd_read_all(pair[1], data, 5, &err), ERROR_IO, "4 bytes early");
    close(pair[1]);
    assert_error(fd_write_all(-1, "x", 1, &err), ERROR_IO, "");
}

static void flags_are_changed(void **state)
{
    int pair[2];
    assert_ok(fd_socketpair(SOCK_STREAM, true, pair, &err));
    assert_true(fcntl(pair[0], F_GETFL) & O_NONBLOCK && fcntl(pair[0], F_GETFD) & FD_CLOEXEC);
    assert_ok(fd_set_nonblocking(pair[0], false, &err));
    assert_ok(fd_set_cloexec(pair[0], false, &err));
    assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK || fcntl(pair[0], F_GETFD) & FD_CLOEXEC);
    close(pair[0]);
    close(pair[1]);
    assert_error(fd_set_nonblocking(-1, true, &err), ERROR_IO, "-1");
}

static void all_but_the_listed_are_closed(void **state)
{
    int report[2], status;
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();
    if (!pid) {
        for (int fd = 200; fd < 220; fd++)
            dup2(report[1], fd);
        const int keep[] = {210, 1, 203, 203, report[1]};
        fd_close_from(3, keep, countof(keep));
        char open_ones[1024] = "";
        for (int fd = 0; fd < 1024; fd++)
            open_ones[fd] = fcntl(fd, F_GETFD) >= 0;
        _exit(write(report[1], open_ones, sizeof(open_ones)) != sizeof(open_ones));
    }
    char open_ones[1024];
    assert_ok(fd_read_all(report[0], open_ones, sizeof(open_ones), &err));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int fd = 3; fd < 1024; fd++)
        assert_int_equal(open_ones[fd], fd == 210 || fd == 203 || fd == report[1]);
    assert_true(open_ones[1]);
    close(report[0]);
    close(report[1]);
}

int main(int argc, char **argv)
{
    alarm(120);
    if (argc > 1 && !strcmp(argv[1], "--report"))
        return child_report();
    const struct CMUnitTest tests[] = {
        scratch_test(children_get_only_what_is_given),
        scratch_test(kept_descriptors_get_their_numbers),
        scratch_test(standard_descriptors_may_be_crossed),
        scratch_test(signals_and_surroundings_are_reset),
        scratch_test(missing_programs_are_named),
        scratch_test(statuses_become_errors),
        scratch_test(output_has_a_limit),
        scratch_test(time_is_limited),
        scratch_test(who_keeps_a_pipe_is_not_waited_for),
        scratch_test(messages_carry_descriptors),
        scratch_test(many_descriptors_are_refused),
        scratch_test(sockets_listen_and_connect),
        scratch_test(socket_paths_have_a_length),
        scratch_test(locks_exclude),
        scratch_test(whole_blocks_are_read_and_written),
        scratch_test(flags_are_changed),
        scratch_test(all_but_the_listed_are_closed),
    };
    return cmocka_run_group_tests_name("base processes", tests, NULL, NULL);
}
