#include "ui/term/term.h"

#include "base/alloc.h"
#include "base/words.h"
#include "ui/term/input.h"
#include "ui/term/osc.h"
#include "ui/term/palette.h"
#include "ui/term/screen.h"
#include "ui/term/tty.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#define DRAW_WAIT_MS  100
#define PROBE_MS      500
#define SYNC_LEAST    512 /* a smaller frame is one write and needs no marks */
#define QUEUE_MAX     256 /* keys that were typed while we asked for widths */
#define TERM_NAME_MAX 64

/* Terminals that take sequences of xterm's kind and ignore those that they do not know; on others only what
 * terminfo says is used. */
static const char *const rich[] = {
    "xterm",   "tmux",    "screen", "rxvt",    "foot",   "alacritty",   "kitty",
    "wezterm", "ghostty", "st",     "konsole", "gnome",  "vte",         "mlterm",
    "contour", "iterm",   "iterm2", "mintty",  "nsterm", "ms-terminal",
};

/* What is switched on for as long as the screen is ours, and off on the way back: kitty's keys (told apart,
 * with shifted ones), xterm's modifyOtherKeys, bracketed paste, and the order of cells as we send them
 * whatever way the letters run (BDSM). */
#define MODES_ON  "\x1b[>5u\x1b[>4;1m\x1b[?2004h\x1b[8l"
#define MODES_OFF "\x1b[8h\x1b[?2004l\x1b[>4m\x1b[<u"
/* Ends a string that was being sent, a frame, and all that a guest can have asked for. */
#define BACK_FIRST "\x1b\\\x1b[?2026l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l\x1b[?1004l"
#define SYNC_ON    "\x1b[?2026h"
#define SYNC_OFF   "\x1b[?2026l"

struct term {
    struct term_options options;
    struct term_caps caps;
    char type[TERM_NAME_MAX];
    bool rich, lost, suspended;
    struct screen *screen;
    struct input input;
    int64_t read_ms; /* when bytes came last */
    struct key_event queue[QUEUE_MAX];
    int queued, taken;
    int modes;     /* of the guest */
    int mouse_now; /* 0, 1000, 1002 or 1003 */
    bool focus_now;
    char *title; /* as sent; NULL: never */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_rich(const char *type)
{
    for (size_t i = 0; i < countof(rich); i++) {
        size_t len = strlen(rich[i]);
        if (!strncmp(type, rich[i], len) && (!type[len] || strchr("-.+", type[len])))
            return true;
    }
    return false;
}

static void add(struct buf *out, const char *bytes)
{
    buf_append(out, bytes, strlen(bytes), NULL);
}

static void send(const struct buf *out)
{
    tty_write(buf_data(out), out->len, DRAW_WAIT_MS);
}

/* Tells the device how to give the terminal back, as things are now. */
static void set_back(struct term *term)
{
    struct buf out;
    buf_init(&out, TTY_BACK_MAX);
    if (term->rich)
        add(&out, BACK_FIRST MODES_OFF);
    screen_back(term->screen, &out);
    if (term->title)
        add(&out, OSC_TITLE_POP);
    tty_set_back(buf_data(&out), out.len);
    buf_finish(&out);
}

/* Switches mouse and focus to what is wanted; only what differs is sent. */
static void send_modes(struct term *term)
{
    int modes = term->modes | (term->options.mouse ? TERM_MOUSE_CLICKS : 0);
    int mouse = modes & TERM_MOUSE_MOVE     ? 1003
                : modes & TERM_MOUSE_DRAG   ? 1002
                : modes & TERM_MOUSE_CLICKS ? 1000
                                            : 0;
    bool focus = modes & TERM_FOCUS;
    if (!term->rich || term->suspended)
        return;
    struct buf out;
    buf_init(&out, 0);
    if (mouse != term->mouse_now) {
        if (term->mouse_now)
            buf_printf(&out, NULL, "\x1b[?%dl", term->mouse_now);
        buf_printf(&out, NULL, mouse ? "\x1b[?%dh\x1b[?1006h" : "\x1b[?1006l", mouse);
    }
    if (focus != term->focus_now)
        buf_printf(&out, NULL, "\x1b[?1004%c", focus ? 'h' : 'l');
    term->mouse_now = mouse;
    term->focus_now = focus;
    if (out.len)
        send(&out);
    buf_finish(&out);
}

/* After curses entered the screen. */
static void enter(struct term *term, struct buf *out)
{
    if (term->rich)
        add(out, MODES_ON);
    send(out);
    term->mouse_now = 0;
    term->focus_now = false;
    send_modes(term);
}

/* Reads into the parser; false: nothing was there. */
static bool read_more(struct term *term)
{
    char bytes[4096];
    size_t n = tty_read(bytes, sizeof(bytes), &term->lost);
    if (!n)
        return false;
    input_feed(&term->input, bytes, n);
    term->read_ms = now_ms();
    return true;
}

/* Keys that come before the answer are kept. */
static void keep_keys(struct term *term)
{
    struct key_event event;
    while (term->queued < QUEUE_MAX && input_next(&term->input, false, &event))
        term->queue[term->queued++] = event;
}

/* Writes a line, some ambiguous characters and a wide one, and asks where the cursor is after each; on the
 * alternate screen, so that the line of the shell and its cursor stay as they are. */
static void probe(struct term *term)
{
    static const char question[] =
        "\x1b[?1049h\x1b[1;1H\u2500\u00b7\u2026\u2502\x1b[6n\x1b[1;1H\u6f22\x1b[6n\x1b[c";
    static const char cleared[] = "\x1b[1;1H\x1b[2K\x1b[?1049l";
    struct input *input = &term->input;
    int64_t end = now_ms() + PROBE_MS, left;
    int first = 0;
    input->positions += 2;
    tty_write(question, sizeof(question) - 1, DRAW_WAIT_MS);
    while (!input->attributes_seen && (left = end - now_ms()) > 0 && !term->lost) {
        struct pollfd poller = {.fd = term->options.fd_in, .events = POLLIN};
        poll(&poller, 1, (int)left);
        /* A byte at a time, as the first answer is gone when the second is read. */
        char byte;
        while (tty_read(&byte, 1, &term->lost) == 1) {
            input_feed(input, &byte, 1);
            keep_keys(term);
            if (input->positions_seen == 1)
                first = input->column;
        }
    }
    tty_write(cleared, sizeof(cleared) - 1, DRAW_WAIT_MS);
    term->caps.lines = input->positions_seen == 2 && first == 5 && input->column == 3;
    if (input->positions_seen == 2 && input->column != 3 && first != 5) {
        term->caps.utf8 = false;
        screen_ascii(term->screen);
    }
}

static int no_screen(struct error **err, const char *type)
{
    if (!type || !*type)
        error_set(err, ERROR_INVALID, _("the screen needs to know the terminal, and TERM is not set"));
    else
        error_set(err, ERROR_INVALID, _("the terminal \"%s\" (TERM) cannot show the screen"), type);
    error_hint(err, _("set TERM to what it is (xterm-256color fits most), or use the commands: `hutch ls`, "
                      "`hutch help`"));
    return -ERROR_INVALID;
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* COLORTERM, but not inside of GNU screen, which hands it on and cannot do it. */
static bool wants_direct(const char *type)
{
    const char *value = getenv("COLORTERM");
    if (!value || (strcmp(value, "truecolor") != 0 && strcmp(value, "24bit") != 0))
        return false;
    return strncmp(type, "screen", 6) != 0 || is_set("TMUX");
}

static int create_screen(struct term *term, struct error **err)
{
    struct screen_options options = {
        .type = term->type,
        .direct = wants_direct(term->type),
        .mono = is_set("NO_COLOR"),
        .utf8 = term->caps.utf8,
    };
    tty_size(&options.rows, &options.columns);
    int rc = screen_create(&options, &term->screen, NULL);
    if (rc < 0 && term->rich) {
        /* One of xterm's kind that this machine has no entry of, as behind ssh. */
        options.type = "xterm-256color";
        rc = screen_create(&options, &term->screen, NULL);
    }
    if (rc < 0)
        return no_screen(err, term->type);
    screen_theme(term->screen, term->options.theme);
    term->caps.colors = screen_colors(term->screen);
    term->caps.title = term->rich;
    term->caps.clipboard = term->rich && !(is_set("STY") && !is_set("TMUX"));
    return 0;
}

int term_create(const struct term_options *options, struct term **ret_term, struct error **err)
{
    const char *type = getenv("TERM");
    int rc = tty_check(options->fd_in, options->fd_out, err);
    if (rc < 0) {
        error_hint(err, _("the commands need none: `hutch ls`, `hutch help`"));
        return -ERROR_INVALID;
    }
    if (!type || !*type || strlen(type) >= TERM_NAME_MAX || !strcmp(type, "dumb") || !strcmp(type, "unknown"))
        return no_screen(err, type);
    setlocale(LC_CTYPE, "");
    struct term *term = xnew(struct term);
    term->options = *options;
    memcpy(term->type, type, strlen(type) + 1);
    term->rich = is_rich(type);
    term->caps.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
    input_init(&term->input);
    rc = tty_take(options->fd_in, options->fd_out, err);
    if (rc == 0)
        rc = create_screen(term, err);
    if (rc < 0) {
        term_free(term);
        return rc;
    }
    term->input.erase_is_bs = tty_erase_is_bs();
    set_back(term);
    struct buf out;
    buf_init(&out, 0);
    screen_take(term->screen, &out);
    enter(term, &out);
    buf_finish(&out);
    if (options->lines && term->caps.utf8 && term->rich)
        probe(term);
    *ret_term = term;
    return 0;
}

void term_free(struct term *term)
{
    if (!term)
        return;
    tty_finish();
    screen_free(term->screen);
    while (term->taken < term->queued)
        key_event_finish(&term->queue[term->taken++]);
    input_finish(&term->input);
    free(term->title);
    free(term);
}

const struct term_caps *term_caps(const struct term *term)
{
    return &term->caps;
}

void term_size(struct term *term, int *ret_rows, int *ret_columns)
{
    (void)term;
    tty_size(ret_rows, ret_columns);
}

bool term_key(struct term *term, struct key_event *ret_event, int *ret_wait_ms)
{
    *ret_wait_ms = -1;
    *ret_event = (struct key_event){0};
    if (term->suspended)
        return false;
    if (term->taken < term->queued) {
        *ret_event = term->queue[term->taken++];
        return true;
    }
    do {
        if (input_next(&term->input, false, ret_event))
            return true;
    } while (read_more(term));
    int wait = input_wait(&term->input);
    if (wait < 0)
        return false;
    int64_t left = term->read_ms + wait - now_ms();
    if (left > 0) {
        *ret_wait_ms = (int)left;
        return false;
    }
    if (input_next(&term->input, true, ret_event))
        return true;
    term->read_ms = now_ms();
    *ret_wait_ms = input_wait(&term->input);
    return false;
}

bool term_lost(const struct term *term)
{
    return term->lost;
}

size_t term_draw(struct term *term, const struct grid *grid, bool full)
{
    int rows, columns;
    if (term->suspended || tty_pending())
        return 0;
    struct buf frame;
    buf_init(&frame, 0);
    tty_size(&rows, &columns);
    screen_draw(term->screen, grid, rows, columns, full, &frame);
    size_t bytes = frame.len;
    if (term->rich && frame.len >= SYNC_LEAST) {
        struct buf marked;
        buf_init(&marked, 0);
        add(&marked, SYNC_ON);
        buf_append(&marked, buf_data(&frame), frame.len, NULL);
        add(&marked, SYNC_OFF);
        bytes = marked.len;
        send(&marked);
        buf_finish(&marked);
    } else if (bytes) {
        send(&frame);
    }
    buf_finish(&frame);
    return bytes;
}

bool term_pending(struct term *term)
{
    return !term->suspended && tty_pending();
}

void term_modes(struct term *term, int modes)
{
    term->modes = modes;
    send_modes(term);
}

void term_mouse(struct term *term, bool on)
{
    term->options.mouse = on;
    send_modes(term);
}

int term_copy(struct term *term, const char *bytes, size_t len, struct error **err)
{
    if (!term->caps.clipboard) {
        error_set(err, ERROR_MISSING, _("the terminal \"%s\" has no clipboard that hutch can reach"),
                  term->type);
        error_hint(err, _("select with the mouse (with Shift, if the mouse is hutch's)"));
        return -ERROR_MISSING;
    }
    if (len > TERM_COPY_MAX)
        return error_set(err, ERROR_LIMIT,
                         _("%zu bytes are too many for the terminal's clipboard, the limit is %d"), len,
                         TERM_COPY_MAX);
    if (term->suspended)
        return 0;
    struct buf out;
    buf_init(&out, 0);
    osc_copy(bytes, len, is_set("TMUX"), &out);
    send(&out);
    buf_finish(&out);
    return 0;
}

void term_title(struct term *term, const char *safe)
{
    if (!term->caps.title || term->suspended || (term->title && !strcmp(term->title, safe)))
        return;
    bool first = !term->title;
    free(term->title);
    term->title = xstrdup(safe);
    if (first)
        set_back(term);
    struct buf out;
    buf_init(&out, 0);
    if (first)
        add(&out, OSC_TITLE_PUSH);
    osc_title(safe, term->caps.utf8, &out);
    send(&out);
    buf_finish(&out);
}

void term_bell(struct term *term)
{
    if (!term->suspended)
        tty_write("\a", 1, DRAW_WAIT_MS);
}

void term_notify(struct term *term, const char *safe)
{
    if (!term->rich || term->suspended)
        return;
    struct buf out;
    buf_init(&out, 0);
    bool urgent = !strncmp(term->type, "rxvt", 4) || !strncmp(term->type, "foot", 4);
    osc_notify(safe, urgent ? OSC_777 : OSC_9, is_set("TMUX"), term->caps.utf8, &out);
    send(&out);
    buf_finish(&out);
}

void term_suspend(struct term *term)
{
    if (term->suspended)
        return;
    tty_give();
    screen_leave(term->screen);
    term->suspended = true;
}

void term_resume(struct term *term)
{
    if (!term->suspended)
        return;
    if (tty_again(NULL) < 0) {
        term->lost = true;
        return;
    }
    term->suspended = false;
    int rows, columns;
    struct buf out;
    buf_init(&out, 0);
    tty_size(&rows, &columns);
    if (term->title)
        add(&out, OSC_TITLE_PUSH);
    screen_redraw(term->screen, rows, columns, &out);
    if (term->title)
        osc_title(term->title, term->caps.utf8, &out);
    enter(term, &out);
    buf_finish(&out);
}

void term_theme(struct term *term, enum theme theme)
{
    term->options.theme = theme;
    screen_theme(term->screen, theme);
    term->caps.colors = screen_colors(term->screen);
}
