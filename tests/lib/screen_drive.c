/* screen_drive ROWS COLUMNS COMMAND [ARGUMENT …]: a terminal for a program, driven by lines on stdin.
 * libvterm shows what the program writes; what is measured is printed as a JSON object a line.
 *
 *   see TEXT           waits until TEXT is on the screen: ms since the last key, or since the start
 *   gone TEXT          waits until it is not
 *   type KEYS          \e \r \n \t \\ and \xHH are bytes
 *   walk N DOWN TEXT   N times the key DOWN, each until the row with the cursor says TEXT with the next
 * number (a printf format of one %d): ms of each burst N MS KEYS    N times KEYS, MS apart, waiting for
 * nothing toggle N ON TEXT OFF   N times ON until TEXT is there, then OFF until it is not: ms of each rest MS
 * takes what comes, for that long usage              bytes written, frames (reads), CPU ms, voluntary
 * switches since the last `usage`; memory end                the program is to end: SIGTERM
 *
 * Waiting ends after SCREEN_DRIVE_S (60) seconds, with the screen on stderr and status 1. */
#include "outer.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define COUNT_MAX 100000
#define LINE_MAX_ 4096

struct drive {
    struct outer outer;
    pid_t pid;
    int64_t since_ns; /* the last key, or the start */
    int64_t came_ns;  /* when the newest bytes came */
    uint64_t bytes, reads;
    bool ended;
    double *times;
    size_t count;
    uint64_t bytes_before, reads_before, cpu_before, switches_before;
};

static int64_t now_ns(void)
{
    return units_monotonic_ns();
}

/* ---- the program's side ---- */

static void start(struct drive *drive, char *const argv[])
{
    struct outer *outer = &drive->outer;
    drive->since_ns = now_ns();
    drive->pid = fork();
    require(drive->pid >= 0);
    if (drive->pid > 0) {
        close(outer->slave);
        outer->slave = -1;
        return;
    }
    setsid();
    ioctl(outer->slave, TIOCSCTTY, 0);
    for (int fd = 0; fd < 3; fd++)
        dup2(outer->slave, fd);
    close(outer->slave);
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Takes what comes within wait_ms and shows it. */
static bool take(struct drive *drive, int wait_ms)
{
    struct outer *outer = &drive->outer;
    struct pollfd poller = {.fd = outer->master, .events = POLLIN};
    static char bytes[1 << 18];
    if (drive->ended || poll(&poller, 1, wait_ms) <= 0)
        return false;
    ssize_t n = read(outer->master, bytes, sizeof(bytes));
    drive->came_ns = now_ns();
    if (n <= 0) {
        drive->ended = n == 0 || errno != EINTR;
        return false;
    }
    drive->bytes += (uint64_t)n;
    drive->reads++;
    vterm_input_write(outer->vterm, bytes, (size_t)n);
    return true;
}

static bool row_has(const struct drive *drive, int row, const char *text, bool begins)
{
    autofree char *line = outer_row(&drive->outer, row);
    return begins ? strncmp(line, text, strlen(text)) == 0 : strstr(line, text) != NULL;
}

/* begins: at the start of a row. */
static bool on_screen(const struct drive *drive, const char *text, bool begins)
{
    for (int row = 0; row < drive->outer.rows; row++)
        if (row_has(drive, row, text, begins))
            return true;
    return false;
}

static void give_up(const struct drive *drive, const char *text)
{
    fprintf(stderr, "screen_drive: \"%s\" did not come (or go)\n", text);
    for (int row = 0; row < drive->outer.rows; row++) {
        autofree char *line = outer_row(&drive->outer, row);
        fprintf(stderr, "|%s\n", line);
    }
    kill(drive->pid, SIGKILL);
    exit(1);
}

/* Waits until text is there (or not); ms since the last key. */
static double wait_for(struct drive *drive, const char *text, bool there, bool begins)
{
    const char *limit = getenv("SCREEN_DRIVE_S");
    int64_t until = now_ns() + (limit ? strtoll(limit, NULL, 10) : 60) * 1000000000;
    drive->came_ns = now_ns();
    while (on_screen(drive, text, begins) != there) {
        if (now_ns() > until || drive->ended)
            give_up(drive, text);
        take(drive, 1000);
    }
    return (double)(drive->came_ns - drive->since_ns) / 1e6;
}

static void rest(struct drive *drive, int64_t ms)
{
    int64_t until = now_ns() + ms * 1000000;
    for (int64_t left; (left = until - now_ns()) > 0;)
        if (!take(drive, (int)(left / 1000000) + 1) && drive->ended)
            return;
}

/* ---- keys ---- */

static size_t unescape(const char *text, char *ret)
{
    static const char names[] = "ernt\\", bytes[] = "\033\r\n\t\\";
    size_t n = 0;
    for (; *text; text++) {
        const char *name = text[0] == '\\' && text[1] ? strchr(names, text[1]) : NULL;
        if (name) {
            ret[n++] = bytes[name - names];
            text++;
        } else if (text[0] == '\\' && text[1] == 'x' && text[2] && text[3]) {
            char hex[3] = {text[2], text[3], 0};
            ret[n++] = (char)strtol(hex, NULL, 16);
            text += 3;
        } else {
            ret[n++] = *text;
        }
    }
    return n;
}

static void type(struct drive *drive, const char *keys)
{
    char bytes[LINE_MAX_];
    size_t n = unescape(keys, bytes);
    drive->since_ns = now_ns();
    if (write(drive->outer.master, bytes, n) != (ssize_t)n)
        give_up(drive, keys);
}

/* ---- what is measured ---- */

static int by_value(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static void say_times(struct drive *drive, const char *what)
{
    qsort(drive->times, drive->count, sizeof(*drive->times), by_value);
    size_t n = drive->count;
    printf("{\"%s\": %zu, \"median_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n", what, n,
           drive->times[n / 2], drive->times[n * 99 / 100], drive->times[n - 1]);
    drive->count = 0;
}

static void keep_time(struct drive *drive, double ms)
{
    if (drive->count == COUNT_MAX)
        return;
    drive->times[drive->count++] = ms;
}

/* Between two keys as long as a person takes, never in step with frames. */
static void pause_like_a_person(struct drive *drive, int i)
{
    rest(drive, 20 + i * 37 % 61);
}

static void walk(struct drive *drive, char *arguments)
{
    char *rest_of = arguments;
    int count = (int)strtol(strsep(&rest_of, " "), NULL, 10);
    const char *key = strsep(&rest_of, " "), *digits = strstr(rest_of, "%d");
    require(digits);
    for (int i = 1; i <= count; i++) {
        autofree char *text =
            xasprintf("%.*s%03d%s", (int)(digits - rest_of), rest_of, i, digits + strlen("%d"));
        pause_like_a_person(drive, i);
        type(drive, key);
        keep_time(drive, wait_for(drive, text, true, true));
    }
    say_times(drive, "walk");
}

static void burst(struct drive *drive, char *arguments)
{
    char *rest_of = arguments;
    int count = (int)strtol(strsep(&rest_of, " "), NULL, 10);
    int64_t apart = strtoll(strsep(&rest_of, " "), NULL, 10);
    for (int i = 0; i < count; i++) {
        type(drive, rest_of);
        rest(drive, apart);
    }
}

static void toggle(struct drive *drive, char *arguments)
{
    char *rest_of = arguments;
    int count = (int)strtol(strsep(&rest_of, " "), NULL, 10);
    const char *on = strsep(&rest_of, " "), *text = strsep(&rest_of, " "), *off = strsep(&rest_of, " ");
    for (int i = 0; i < count; i++) {
        pause_like_a_person(drive, i);
        type(drive, on);
        keep_time(drive, wait_for(drive, text, true, false));
        pause_like_a_person(drive, i + 7);
        type(drive, off);
        keep_time(drive, wait_for(drive, text, false, false));
    }
    say_times(drive, "toggle");
}

/* A number behind a word of a file in /proc. */
static uint64_t proc_number(const struct drive *drive, const char *file, const char *word)
{
    autofree char *path = xasprintf("/proc/%d/%s", (int)drive->pid, file), *text = NULL;
    size_t len;
    if (file_read(path, 65536, &text, &len, NULL) < 0)
        return 0;
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* User and system time in ms. */
static uint64_t cpu_ms(const struct drive *drive)
{
    autofree char *path = xasprintf("/proc/%d/stat", (int)drive->pid), *text = NULL;
    unsigned long user = 0, system = 0;
    size_t len;
    if (file_read(path, 4096, &text, &len, NULL) < 0 || !strrchr(text, ')'))
        return 0;
    require(sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                   &system) == 2);
    return (user + system) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void usage(struct drive *drive)
{
    uint64_t cpu = cpu_ms(drive), switches = proc_number(drive, "status", "\nvoluntary_ctxt_switches:");
    printf("{\"bytes\": %llu, \"reads\": %llu, \"cpu_ms\": %llu, \"switches\": %llu, \"rss_kb\": %llu, "
           "\"peak_kb\": %llu, \"own_kb\": %llu}\n",
           (unsigned long long)(drive->bytes - drive->bytes_before),
           (unsigned long long)(drive->reads - drive->reads_before),
           (unsigned long long)(cpu - drive->cpu_before),
           (unsigned long long)(switches - drive->switches_before),
           (unsigned long long)proc_number(drive, "status", "VmRSS:"),
           (unsigned long long)proc_number(drive, "status", "VmHWM:"),
           (unsigned long long)proc_number(drive, "smaps_rollup", "\nPss:"));
    drive->bytes_before = drive->bytes;
    drive->reads_before = drive->reads;
    drive->cpu_before = cpu;
    drive->switches_before = switches;
}

/* ---- the lines ---- */

static void do_line(struct drive *drive, char *line)
{
    char *rest_of = line;
    const char *word = strsep(&rest_of, " ");
    if (!rest_of)
        rest_of = line + strlen(line);
    if (strcmp(word, "see") == 0 || strcmp(word, "gone") == 0)
        printf("{\"%s\": %.3f}\n", word, wait_for(drive, rest_of, *word == 's', false));
    else if (strcmp(word, "type") == 0)
        type(drive, rest_of);
    else if (strcmp(word, "walk") == 0)
        walk(drive, rest_of);
    else if (strcmp(word, "burst") == 0)
        burst(drive, rest_of);
    else if (strcmp(word, "toggle") == 0)
        toggle(drive, rest_of);
    else if (strcmp(word, "rest") == 0)
        rest(drive, strtoll(rest_of, NULL, 10));
    else if (strcmp(word, "usage") == 0)
        usage(drive);
    else if (strcmp(word, "end") == 0)
        kill(drive->pid, SIGTERM);
    else if (*word && *word != '#') {
        fprintf(stderr, "screen_drive: what is \"%s\"?\n", word);
        exit(2);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct drive drive = {0};
    char line[LINE_MAX_];
    if (argc < 4) {
        fprintf(stderr, "usage: screen_drive ROWS COLUMNS COMMAND [ARGUMENT ...] <LINES\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    outer_init(&drive.outer, (int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10));
    drive.outer.answers = true;
    drive.times = xnewn(double, COUNT_MAX);
    start(&drive, argv + 3);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        do_line(&drive, line);
    }
    kill(drive.pid, SIGTERM);
    for (int i = 0; i < 50 && waitpid(drive.pid, NULL, WNOHANG) == 0;
         i++) /* what it writes at its end is taken */
        rest(&drive, 20);
    kill(drive.pid, SIGKILL);
    free(drive.times);
    return 0;
}
