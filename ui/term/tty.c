#include "ui/term/tty.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/words.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

/* A terminal that takes nothing for so long is left as it is. */
#define BACK_MS 500
/* Written at once to a descriptor that may block. */
#define CHUNK 512

/* Of the process, since a signal's handler must find it. The way back is written in one of two places, and
 * told by one store. */
static struct {
    int in, out; /* the person's; not ours to close */
    int own;     /* our own opening of `out`, which does not block; -1: there is none */
    struct termios saved;
    char back[2][TTY_BACK_MAX];
    size_t back_len[2];
    volatile sig_atomic_t back_now;
    volatile sig_atomic_t active;
    pid_t owner;
    bool prepared;
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
 * else it is somebody else's by now. */
static void give_back(int when)
{
    if (!tty.active || tty.owner != getpid())
        return;
    tty.active = 0;
    pid_t foreground = tcgetpgrp(tty.in);
    if (foreground > 0 && foreground != getpgrp())
        return;
    int now = (int)tty.back_now;
    write_some(out_fd(), tty.back[now], tty.back_len[now], BACK_MS);
    tcsetattr(tty.in, when, &tty.saved);
}

static void on_exit_give(void)
{
    give_back(TCSANOW);
}

static void on_fatal(int number)
{
    int sys = errno;
    give_back(TCSANOW);
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
    if (tcgetattr(tty.in, &tty.saved) < 0)
        return error_set_errno(err, errno, _("the terminal cannot be read"));
    struct termios raw = tty.saved;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tty.active = 1;
    if (tcsetattr(tty.in, TCSADRAIN, &raw) < 0) {
        tty.active = 0;
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
    buf_init(&tty.queue, TTY_PENDING_MAX);
    tty.back_len[0] = tty.back_len[1] = 0;
    if (!tty.prepared)
        atexit(on_exit_give);
    tty.prepared = true;
    signals_take();
    int rc = set_raw(err);
    if (rc < 0)
        tty_finish();
    return rc;
}

void tty_set_back(const void *bytes, size_t len)
{
    int next = !tty.back_now;
    if (len > TTY_BACK_MAX)
        len = TTY_BACK_MAX;
    memcpy(tty.back[next], bytes, len);
    tty.back_len[next] = len;
    tty.back_now = next;
}

void tty_give(void)
{
    if (!tty.active)
        return;
    tty_write(NULL, 0, BACK_MS);
    buf_consume(&tty.queue, tty.queue.len);
    give_back(TCSADRAIN);
}

int tty_again(struct error **err)
{
    return tty.active ? 0 : set_raw(err);
}

void tty_finish(void)
{
    tty_give();
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
    return tty.saved.c_cc[VERASE] == 0x08;
}
