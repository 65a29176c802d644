#include "guest/freeze.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOUNTINFO_MAX ((size_t)4 << 20)
#define FIELDS_MAX    64

struct held {
    int fds[FREEZE_POINT_MAX];
    bool frozen[FREEZE_POINT_MAX];
    size_t count;
};

/* Resolves "\040" and its like, in place. */
static char *unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p; to++) {
        if (p[0] == '\\' && strspn(p + 1, "01234567") >= 3) {
            *to = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            p += 4;
        } else {
            *to = *p++;
        }
    }
    *to = '\0';
    return text;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == len && strncmp(p, word, len) == 0)
            return true;
    return false;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
char *freeze_point(char *line, char **ret_device)
{
    char *fields[FIELDS_MAX], *word;
    size_t count = 0, dash = 0;

    while ((word = strsep(&line, " ")) && count < FIELDS_MAX) {
        if (count > 5 && dash == 0 && strcmp(word, "-") == 0)
            dash = count;
        fields[count++] = word;
    }
    if (dash == 0 || count < dash + 4 || fields[dash + 2][0] != '/' || !has_word(fields[5], "rw") ||
        !has_word(fields[dash + 3], "rw"))
        return NULL;
    *ret_device = fields[2];
    return unescape(fields[4]);
}

static void add(struct held *held, const char *path)
{
    int fd = held->count < FREEZE_POINT_MAX ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0)
        held->fds[held->count++] = fd;
}

/* Opens each file system once; they stand in the order in which they were mounted. */
static void find_all(struct held *held)
{
    autofree char *text = NULL, *seen = xstrdup(",");
    char *cursor, *line, *device;

    if (file_read("/proc/self/mountinfo", MOUNTINFO_MAX, &text, NULL, NULL) < 0)
        return;
    cursor = text;
    while ((line = strsep(&cursor, "\n"))) {
        char *path = freeze_point(line, &device);
        if (!path || has_word(seen, device))
            continue;
        char *longer = xasprintf("%s%s,", seen, device);
        free(seen);
        seen = longer;
        add(held, path);
    }
}

/* Later mounts first: one may lie in a file of an earlier one. */
static int hold(struct held *held)
{
    for (size_t i = held->count; i-- > 0;) {
        held->frozen[i] = ioctl(held->fds[i], FIFREEZE, 0) == 0;
        if (!held->frozen[i] && errno != EOPNOTSUPP && errno != EBUSY)
            return -errno;
    }
    return 0;
}

static void let_go(struct held *held)
{
    for (size_t i = 0; i < held->count; i++)
        if (held->frozen[i])
            ioctl(held->fds[i], FITHAW, 0);
}

void freeze_thaw_all(void)
{
    struct held held = {0};

    find_all(&held);
    for (size_t i = 0; i < held.count; i++) {
        ioctl(held.fds[i], FITHAW, 0);
        close(held.fds[i]);
    }
}

/* One answer on the pipe; who reads it may be gone. */
static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        log_debug("nobody hears: %m");
}

/* Until stdin says this word; false: it says another, or the time is over first, or nobody is there any more.
 */
static bool wait_word(char expected, int ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    int64_t end = units_monotonic_ns() + (int64_t)ms * 1000000;
    int ready = 0, left;
    char word;

    while (ready <= 0 && (left = (int)((end - units_monotonic_ns()) / 1000000)) > 0)
        ready = poll(&in, 1, left);
    return ready > 0 && read(STDIN_FILENO, &word, 1) == 1 && word == expected;
}

int freeze_main(int argc, char **argv)
{
    static struct held held;
    char failed[128];

    for (int i = 1; i < argc; i++)
        add(&held, argv[i]);
    if (argc < 2)
        find_all(&held);
    for (size_t i = 0; i < held.count; i++)
        syncfs(held.fds[i]);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0 && geteuid() == 0) {
        say("failed its memory cannot be locked\n");
        return 1;
    }
    say("ready\n");
    if (!wait_word('f', FREEZE_WAIT_MS))
        return 0;
    int rc = hold(&held);
    if (rc < 0) {
        let_go(&held);
        snprintf(failed, sizeof(failed), "failed %s\n", strerror(-rc));
        say(failed);
        return 1;
    }
    say("frozen\n");
    bool told = wait_word('t', FREEZE_LIMIT_MS);
    let_go(&held);
    say(told ? "thawed\n" : "late\n");
    return 0;
}
