#include "cli/terminal.h"

#include "base/alloc.h"
#include "base/words.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

static struct termios saved;
static volatile sig_atomic_t raw_fd = -1;

void terminal_restore(void)
{
    int sys = errno;
    if (raw_fd >= 0)
        tcsetattr(raw_fd, TCSADRAIN, &saved);
    raw_fd = -1;
    errno = sys;
}

/* A crash of our own: the terminal first, then the signal's usual work. */
static void on_fatal(int signal_number)
{
    terminal_restore();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

int terminal_raw(int fd, struct error **err)
{
    static bool prepared;
    struct termios now;
    if (tcgetattr(fd, &now) < 0)
        return error_set_errno(err, errno, _("the terminal cannot be read"));
    if (raw_fd < 0)
        saved = now;
    if (!prepared) {
        static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
        struct sigaction action = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND};
        for (size_t i = 0; i < countof(fatal); i++)
            sigaction(fatal[i], &action, NULL);
        atexit(terminal_restore);
        prepared = true;
    }
    struct termios raw = saved;
    cfmakeraw(&raw);
    raw_fd = fd;
    if (tcsetattr(fd, TCSADRAIN, &raw) < 0) {
        raw_fd = -1;
        return error_set_errno(err, errno, _("the terminal cannot be set"));
    }
    return 0;
}

void terminal_size(int64_t *ret_rows, int64_t *ret_columns)
{
    *ret_rows = 24;
    *ret_columns = 80;
    for (int fd = 0; fd <= 2; fd++) {
        struct winsize size;
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
            *ret_rows = size.ws_row;
            *ret_columns = size.ws_col;
            return;
        }
    }
}

int prefix_parse(const char *text, struct prefix *ret_prefix, struct error **err)
{
    if (strcmp(text, "none") == 0) {
        *ret_prefix = (struct prefix){.key = -1};
        return 0;
    }
    char key = text[0] == '^' && text[1] && !text[2] ? text[1] : '\0';
    if (key >= 'a' && key <= 'z')
        key = (char)(key - 'a' + 'A');
    /* The terminal's own keys must go on to the session. */
    if (key < '@' || key > '_' || strchr("CDZSQIJM[", key)) {
        error_set(err, ERROR_USAGE, _("\"%s\" cannot be the prefix key"), text);
        return error_hint(err, _("\"^]\", another control key such as \"^B\", or none"));
    }
    *ret_prefix = (struct prefix){.key = key - '@'};
    return 0;
}

enum prefix_action prefix_feed(struct prefix *prefix, const uint8_t *data, size_t len, struct buf *out)
{
    enum prefix_action action = PREFIX_NONE;
    for (size_t i = 0; i < len; i++) {
        if (!prefix->pending) {
            if (data[i] == prefix->key)
                prefix->pending = true;
            else
                require(buf_append(out, data + i, 1, NULL) == 0);
            continue;
        }
        prefix->pending = false;
        if (data[i] == 'd')
            return PREFIX_DETACH;
        if (data[i] == prefix->key)
            require(buf_append(out, data + i, 1, NULL) == 0);
        else
            action = PREFIX_HELP; /* "?", and every key that means nothing yet */
    }
    return action;
}

void prefix_name(const struct prefix *prefix, char ret[3])
{
    ret[0] = '^';
    ret[1] = (char)(prefix->key + '@');
    ret[2] = '\0';
}
