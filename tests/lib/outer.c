#include "outer.h"

#include "base/alloc.h"
#include "ui/grid/grid.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static int on_prop(VTermProp prop, VTermValue *value, void *user)
{
    struct outer *outer = user;
    if (prop == VTERM_PROP_ALTSCREEN)
        outer->alternate = value->boolean;
    else if (prop == VTERM_PROP_CURSORVISIBLE)
        outer->cursor = value->boolean;
    return 1;
}

static int on_cursor(VTermPos now, VTermPos before, int visible, void *user)
{
    struct outer *outer = user;
    (void)before;
    (void)visible;
    outer->cursor_row = now.row;
    outer->cursor_column = now.col;
    return 1;
}

static int on_bell(void *user)
{
    ((struct outer *)user)->bells++;
    return 1;
}

static const VTermScreenCallbacks callbacks = {
    .settermprop = on_prop,
    .movecursor = on_cursor,
    .bell = on_bell,
};

/* What libvterm answers is typed. */
static void on_answer(const char *bytes, size_t len, void *user)
{
    struct outer *outer = user;
    if (outer->answers)
        require(write(outer->master, bytes, len) == (ssize_t)len);
}

void outer_init(struct outer *outer, int rows, int columns)
{
    *outer = (struct outer){.rows = rows, .columns = columns, .cursor = true};
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    require(openpty(&outer->master, &outer->slave, NULL, NULL, &size) == 0);
    require(fcntl(outer->master, F_SETFD, FD_CLOEXEC) == 0);
    buf_init(&outer->log, 0);
    outer->vterm = vterm_new(rows, columns);
    vterm_set_utf8(outer->vterm, 1);
    vterm_output_set_callback(outer->vterm, on_answer, outer);
    outer->screen = vterm_obtain_screen(outer->vterm);
    vterm_screen_set_callbacks(outer->screen, &callbacks, outer);
    vterm_screen_enable_altscreen(outer->screen, 1);
    vterm_screen_reset(outer->screen, 1);
}

void outer_finish(struct outer *outer)
{
    close(outer->master);
    close(outer->slave);
    vterm_free(outer->vterm);
    buf_finish(&outer->log);
}

void outer_resize(struct outer *outer, int rows, int columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    outer->rows = rows;
    outer->columns = columns;
    require(ioctl(outer->master, TIOCSWINSZ, &size) == 0);
    vterm_set_size(outer->vterm, rows, columns);
}

/* Reads once. 0: nothing came within wait_ms; -1: closed. */
static int pump_once(struct outer *outer, int wait_ms)
{
    struct pollfd poller = {.fd = outer->master, .events = POLLIN};
    char bytes[65536];
    if (poll(&poller, 1, wait_ms) <= 0)
        return 0;
    ssize_t n = read(outer->master, bytes, sizeof(bytes));
    if (n <= 0)
        return n < 0 && errno == EINTR ? 0 : -1;
    require(buf_append(&outer->log, bytes, (size_t)n, NULL) == 0);
    return 1;
}

bool outer_pump(struct outer *outer)
{
    int rc;
    while ((rc = pump_once(outer, 0)) > 0) {
    }
    return rc == 0;
}

void outer_feed(struct outer *outer)
{
    const uint8_t *data = buf_data(&outer->log);
    size_t from = outer->fed;
    outer->fed = outer->log.len;
    vterm_input_write(outer->vterm, (const char *)data + from, outer->log.len - from);
}

void outer_sync(struct outer *outer)
{
    /* A string that libvterm does not know: it changes nothing. */
    char mark[40];
    int len = snprintf(mark, sizeof(mark), "\x1b]7070;%u\x1b\\", ++outer->marks);
    outer_pump(outer);
    require(write(outer->slave, mark, (size_t)len) == len);
    while (!outer_logged(outer, mark))
        require(pump_once(outer, 10000) > 0);
    outer_feed(outer);
    struct buf kept = outer->log;
    buf_init(&outer->log, 0);
    require(buf_append(&outer->log, buf_data(&kept), kept.len - (size_t)len, NULL) == 0);
    buf_finish(&kept);
    outer->fed = outer->log.len;
}

void outer_clear(struct outer *outer)
{
    outer_feed(outer);
    buf_consume(&outer->log, outer->log.len);
    outer->fed = 0;
}

void outer_type(struct outer *outer, const char *bytes, size_t len)
{
    int have = 0;
    require(write(outer->master, bytes, len) == (ssize_t)len);
    struct pollfd poller = {.fd = outer->slave, .events = POLLIN};
    while (have < (int)len) {
        require(poll(&poller, 1, 10000) == 1);
        require(ioctl(outer->slave, FIONREAD, &have) == 0);
    }
}

/* Where bytes are last in the log, -1: nowhere. */
static ssize_t last_of(const struct outer *outer, const char *bytes)
{
    const uint8_t *data = buf_data(&outer->log), *at = data, *found = NULL;
    size_t len = strlen(bytes);
    while ((at = memmem(at, outer->log.len - (size_t)(at - data), bytes, len)))
        found = at++;
    return found ? found - data : -1;
}

bool outer_mode(const struct outer *outer, const char *mode)
{
    autofree char *on = xasprintf("\x1b[?%sh", mode), *off = xasprintf("\x1b[?%sl", mode);
    return last_of(outer, on) > last_of(outer, off);
}

bool outer_logged(const struct outer *outer, const char *bytes)
{
    return last_of(outer, bytes) >= 0;
}

VTermScreenCell outer_cell(const struct outer *outer, int row, int column)
{
    VTermScreenCell cell;
    require(vterm_screen_get_cell(outer->screen, (VTermPos){.row = row, .col = column}, &cell));
    return cell;
}

char *outer_row(const struct outer *outer, int row)
{
    struct buf out;
    buf_init(&out, 0);
    size_t end = 0;
    for (int column = 0; column < outer->columns; column++) {
        VTermScreenCell cell = outer_cell(outer, row, column);
        char text[CELL_BYTES];
        struct cell ours = {.width = cell.chars[0] == (uint32_t)-1 ? 0 : 1};
        for (size_t i = 0; i < CELL_CODES && i < VTERM_MAX_CHARS_PER_CELL && ours.width; i++)
            ours.codes[i] = cell.chars[i];
        size_t len = cell_text(&ours, text);
        require(buf_append(&out, text, len, NULL) == 0);
        if (len && cell.chars[0] && cell.chars[0] != ' ')
            end = out.len;
    }
    char *row_text = buf_take_string(&out);
    row_text[end] = '\0';
    buf_finish(&out);
    return row_text;
}
