/* Small things for tests of the way out: a ClientHello, programs, numbers of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "way_rig.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_MS 60000

static void put(struct buf *out, size_t value, unsigned bytes)
{
    while (bytes-- > 0)
        assert_int_equal(buf_append(out, &(uint8_t){(uint8_t)(value >> 8 * bytes)}, 1, NULL), 0);
}

void way_hello(struct buf *out, const char *host)
{
    size_t name = strlen(host), extensions = name + 9, body = 2 + 32 + 1 + 4 + 2 + 2 + extensions;

    put(out, 0x160301, 3);
    put(out, body + 4, 2);
    put(out, 1, 1);
    put(out, body, 3);
    put(out, 0x0303, 2);
    for (unsigned i = 0; i < 32; i++)
        put(out, i, 1);
    put(out, 0, 1);
    put(out, 2, 2);
    put(out, 0x1301, 2);
    put(out, 0x0100, 2);
    put(out, extensions, 2);
    put(out, 0, 2);
    put(out, name + 5, 2);
    put(out, name + 3, 2);
    put(out, 0, 1);
    put(out, name, 2);
    assert_int_equal(buf_append(out, host, name, NULL), 0);
}

int way_run(struct way_rig *rig, const char *const *argv, char **ret_output)
{
    int fds[2], status = 0;
    pid_t pid;
    struct buf output;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    const struct spawn spawn = {.argv = argv, .in = -1, .out = fds[1], .err = fds[1]};
    assert_int_equal(spawn_start(&spawn, &pid, NULL), 0);
    close(fds[1]);
    fd_set_nonblocking(fds[0], true, NULL);
    buf_init(&output, 1 << 20);
    char block[4096];
    ssize_t n = -1;
    while (n != 0) {
        if (!way_until(rig, (n = read(fds[0], block, sizeof(block))) >= 0, RUN_MS)) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            fail_msg("%s does not end", argv[0]);
        }
        assert_int_equal(buf_append(&output, block, (size_t)n, NULL), 0);
    }
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *ret_output = xstrndup((const char *)buf_data(&output), output.len);
    buf_finish(&output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

size_t way_descriptors(pid_t pid)
{
    autofree char *path = xasprintf("/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

uint64_t way_memory_kib(pid_t pid, const char *key)
{
    autofree char *path = xasprintf("/proc/%d/status", (int)pid);
    autofree char *data = NULL;

    assert_int_equal(file_read(path, 65536, &data, NULL, NULL), 0);
    const char *at = strstr(data, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 10);
}

double way_cpu_s(pid_t pid)
{
    autofree char *path = xasprintf("/proc/%d/stat", (int)pid);
    autofree char *data = NULL;
    unsigned long user = 0, kernel = 0;

    assert_int_equal(file_read(path, 65536, &data, NULL, NULL), 0);
    const char *at = strrchr(data, ')');
    assert_int_equal(sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel),
                     2);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}
