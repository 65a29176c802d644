#include "ui/term/tty.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/words.h"
#include "ui/term/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <time.h>

/* A terminal that takes nothing for so long is left as it is. */
#define BACK_MS      500
#define BUSY_MS      10000 /* how long a command that came after one that was killed may have the terminal */
#define BUSY_TURN_MS 50
/* Written at once to a descriptor that may block. */
#define CHUNK 512

/* The way back, written in one of two places and told by one store. Shared with the process that goes it when
 * this one was killed. */
struct way {
    struct termios saved;
    char bytes[2][TTY_BACK_MAX];
    size_t len[2];
    volatile sig_atomic_t now;
    volatile sig_atomic_t active;
};
static struct way own_way, *way = &own_way;

/* Of the process, since a signal's handler must find it. */
static struct {
    int in, out; /* the person's; not ours to close */
    int own;     /* our own opening of `out`, which does not block; -1: there is none */
    pid_t owner;
    pid_t group, shell; /* process groups: ours, and that of who started us */
    bool prepared;
    struct rescue rescue;
    struct buf queue;
} tty = {.in = -1, .out = -1, .own = -1};

static const struct fatal {
    int number;
    bool always; /* a crash: also over a handler of somebody else, who gets it next */
} fatals[] = {
    {SIGSEGV, true}, {SIGBUS, true},   {SIGFPE, true},   {SIGILL, true},  {SIGABRT, true},
    {SIGHUP, false}, {SIGTERM, false}, {SIGQUIT, false}, {SIGINT, false}, {SIGXCPU, false},
};
static struct sigaction before[countof(fatals)];
static char signal_stack[1 << 16];

/* Writes with only what a signal's handler may call. Returns what was not written. */
static size_t write_some(int fd, const char *bytes, size_t len, int wait_ms)
{
    while (len > 0) {
        struct pollfd poller = {.fd = fd, .events = POLLOUT};
        int ready = poll(&poller, 1, wait_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || !(poller.revents & POLLOUT))
            break;
        size_t chunk = tty.own >= 0 || len < CHUNK ? len : CHUNK;
        ssize_t n = write(fd, bytes, chunk);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            break;
        bytes += n;
        len -= (size_t)n;
    }
    return len;
}

static int out_fd(void)
{
    return tty.own >= 0 ? tty.own : tty.out;
}

/* The way back; a handler may call it. Only the process that took the terminal, and only in its foreground:
 * else it is somebody else's by now. `dead`: of a process that was killed; a shell that was faster has set
 * the terminal itself, but knows nothing of what it was told. */
static void give_back(int when, bool dead)
{
    if (!way->active || tty.owner != getpid())
        return;
    way->active = 0;
    pid_t foreground = tcgetpgrp(tty.in);
    bool ours = foreground <= 0 || foreground == tty.group;
    if (!ours && !(dead && foreground == tty.shell))
        return;
    int now = (int)way->now;
    write_some(out_fd(), way->bytes[now], way->len[now], BACK_MS);
    if (ours)
        tcsetattr(tty.in, when, &way->saved);
}

/* In the process that outlives this one. A shell that went on with a command of its own gave the terminal to
 * that: it is not disturbed, and what it left is set right when the shell has the terminal again. */
static void give_for_dead(void)
{
    static const struct timespec turn = {.tv_nsec = BUSY_TURN_MS * 1000000L};

    for (int waited = 0; waited < BUSY_MS; waited += BUSY_TURN_MS) {
        pid_t foreground = tcgetpgrp(tty.in);
        if (foreground <= 0 || foreground == tty.group || foreground == tty.shell)
            break;
        nanosleep(&turn, NULL);
    }
    tty.owner = getpid();
    give_back(TCSANOW, true);
}

static void on_exit_give(void)
{
    give_back(TCSANOW, false);
}

static void on_fatal(int number)
{
    int sys = errno;
    give_back(TCSANOW, false);
    for (size_t i = 0; i < countof(fatals); i++)
        if (fatals[i].number == number)
            sigaction(number, &before[i], NULL);
    errno = sys;
    raise(number); /* comes when this returns: whatever it does without us */
}

static void signals_take(void)
{
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)}, now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
        sigaltstack(&stack, NULL); /* a stack that overflowed has no room for a handler */
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < countof(fatals); i++) {
        sigaction(fatals[i].number, NULL, &before[i]);
        bool unused = !(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_DFL;
        if (unused || fatals[i].always)
            sigaction(fatals[i].number, &action, NULL);
    }
}

static void signals_give(void)
{
    for (size_t i = 0; i < countof(fatals); i++) {
        struct sigaction now;
        sigaction(fatals[i].number, NULL, &now);
        if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_fatal)
            sigaction(fatals[i].number, &before[i], NULL);
    }
}

static int set_raw(struct error **err)
{
    if (tcgetattr(tty.in, &way->saved) < 0)
        return error_set_errno(err, errno, _("the terminal cannot be read"));
    struct termios raw = way->saved;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    way->active = 1;
    if (tcsetattr(tty.in, TCSADRAIN, &raw) < 0) {
        way->active = 0;
        return error_set_errno(err, errno, _("the terminal cannot be set"));
    }
    return 0;
}

int tty_check(int fd_in, int fd_out, struct error **err)
{
    bool in = isatty(fd_in), out = isatty(fd_out);
    if (in && out)
        return 0;
    return error_set(err, ERROR_INVALID, "%s",
                     in ? _("the screen needs a terminal, and standard output is none")
                        : _("the screen needs a terminal, and standard input is none"));
}

/* Once a process. Without shared memory nobody goes the way back for it when it is killed. */
static void prepare(void)
{
    if (tty.prepared)
        return;
    tty.prepared = true;
    atexit(on_exit_give);
    void *shared = mmap(NULL, sizeof(*way), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED)
        way = shared;
}

int tty_take(int fd_in, int fd_out, struct error **err)
{
    require(tty.in < 0);
    int checked = tty_check(fd_in, fd_out, err);
    if (checked < 0)
        return checked;
    tty.in = fd_in;
    tty.out = fd_out;
    /* An opening of our own, as not to block is a matter of the opening, and the shell has the other. */
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd_out);
    tty.own = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    tty.owner = getpid();
    tty.group = getpgrp();
    tty.shell = getpgid(getppid());
    buf_init(&tty.queue, TTY_PENDING_MAX);
    prepare();
    way->len[0] = way->len[1] = 0;
    rescue_start(&tty.rescue, (int[]){fd_in, fd_out, tty.own}, tty.own < 0 ? 2 : 3, give_for_dead);
    signals_take();
    int rc = set_raw(err);
    if (rc < 0)
        tty_finish();
    return rc;
}

void tty_set_back(const void *bytes, size_t len)
{
    int next = !way->now;
    if (len > TTY_BACK_MAX)
        len = TTY_BACK_MAX;
    memcpy(way->bytes[next], bytes, len);
    way->len[next] = len;
    way->now = next;
}

void tty_give(void)
{
    if (!way->active)
        return;
    tty_write(NULL, 0, BACK_MS);
    buf_consume(&tty.queue, tty.queue.len);
    give_back(TCSADRAIN, false);
}

int tty_again(struct error **err)
{
    return way->active ? 0 : set_raw(err);
}

void tty_finish(void)
{
    tty_give();
    rescue_stop(&tty.rescue);
    signals_give();
    buf_finish(&tty.queue);
    if (tty.own >= 0)
        close(tty.own);
    tty.in = tty.out = tty.own = -1;
}

void tty_write(const void *bytes, size_t len, int wait_ms)
{
    buf_append(&tty.queue, bytes, len, NULL);
    size_t left = write_some(out_fd(), (const char *)buf_data(&tty.queue), tty.queue.len, wait_ms);
    buf_consume(&tty.queue, tty.queue.len - left);
}

bool tty_pending(void)
{
    tty_write(NULL, 0, 0);
    return tty.queue.len > 0;
}

size_t tty_read(void *bytes, size_t size, bool *ret_lost)
{
    struct pollfd poller = {.fd = tty.in, .events = POLLIN};
    if (poll(&poller, 1, 0) <= 0)
        return 0;
    ssize_t n = poller.revents & POLLIN ? read(tty.in, bytes, size) : 0;
    if (n > 0)
        return (size_t)n;
    if (n == 0 || (errno != EINTR && errno != EAGAIN))
        *ret_lost = true;
    return 0;
}

void tty_size(int *ret_rows, int *ret_columns)
{
    struct winsize size;
    *ret_rows = 24;
    *ret_columns = 80;
    if (ioctl(tty.out, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        *ret_rows = size.ws_row;
        *ret_columns = size.ws_col;
    }
}

bool tty_erase_is_bs(void)
{
    return way->saved.c_cc[VERASE] == 0x08;
}
