#include "ui/model/terminal_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <stdarg.h>
#include <string.h>

/* ---- the emulator's bytes ---- */

static void on_input(const uint8_t *bytes, size_t len, void *user)
{
    struct terminal *t = user;
    if (!t->muted && t->effects)
        terminal_link_input(t, bytes, len, t->effects);
}

static void on_bell(void *user)
{
    struct terminal *t = user;
    bool early = t->bell_ns && t->now_ns - t->bell_ns >= 0 && t->now_ns - t->bell_ns < TERMINAL_BELL_NS;
    if (t->muted || !t->effects || early)
        return;
    t->bell_ns = t->now_ns;
    effects_add(t->effects, EFFECT_BELL);
}

/* ---- being ---- */

static bool unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

static char *encoded(const char *name)
{
    char *out = xcalloc(strlen(name) * 3 + 1, 1), *p = out;
    for (; *name; name++) {
        static const char digits[] = "0123456789ABCDEF";
        if (unreserved(*name)) {
            *p++ = *name;
            continue;
        }
        *p++ = '%';
        *p++ = digits[(unsigned char)*name >> 4];
        *p++ = digits[(unsigned char)*name & 15];
    }
    return out;
}

static void set_escape(struct terminal *t, const char *name)
{
    if (name && strcmp(name, "none") == 0)
        return;
    auto(error) struct error *err = NULL;
    if (!name || key_parse(name, &t->escape, &err) < 0)
        require(key_parse("^]", &t->escape, NULL) == 0);
    key_name(&t->escape, t->escape_name);
}

int terminal_guest_rows(const struct terminal *t)
{
    return t->rows > 1 ? t->rows - 1 : 1;
}

struct terminal *terminal_create(const struct terminal_options *options)
{
    struct terminal *t = xnew(struct terminal);
    t->project = xstrdup(options->project);
    t->session = xstrdup(options->session);
    t->label = text_safe(options->label && *options->label ? options->label : _("terminal"));
    autofree char *project = encoded(options->project);
    autofree char *session = encoded(options->session);
    t->path = xasprintf("/v1/projects/%s/sessions/%s", project, session);
    t->ids = options->ids;
    t->alone = options->alone;
    t->rows = options->rows;
    t->columns = options->columns;
    set_escape(t, options->escape);
    const struct emulator_options emulator = {.rows = terminal_guest_rows(t),
                                              .columns = t->columns,
                                              .lines = options->lines,
                                              .input = on_input,
                                              .bell = on_bell};
    t->emulator = emulator_create(&emulator, t);
    t->scroll.search = t->search;
    t->changed = true;
    return t;
}

void terminal_free(struct terminal *t)
{
    if (!t)
        return;
    emulator_free(t->emulator);
    free(t->project);
    free(t->session);
    free(t->label);
    free(t->path);
    free(t->error);
    free(t->note);
    free(t);
}

void terminal_say(struct terminal *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *said = xvasprintf(format, args);
    va_end(args);
    free(t->note);
    t->note = text_safe(said);
    t->note_ns = t->now_ns;
    t->changed = true;
}

/* ---- what the guest wants of the real terminal ---- */

static void tell_modes(struct terminal *t, struct effects *effects)
{
    struct emulator_wants wants = {0};
    if (t->focused && t->mode == TERMINAL_TYPING && t->state == TERMINAL_LIVE)
        emulator_wants(t->emulator, &wants);
    if (wants.modes == t->modes)
        return;
    t->modes = wants.modes;
    effects_add_text(effects, EFFECT_MODES, NULL, wants.modes);
}

static void begin(struct terminal *t, struct effects *effects)
{
    t->effects = effects;
}

static void end(struct terminal *t)
{
    tell_modes(t, t->effects);
    t->effects = NULL;
    if (emulator_changed(t->emulator))
        t->changed = true;
}

void terminal_attach(struct terminal *t, struct effects *effects)
{
    begin(t, effects);
    terminal_link_start(t, effects);
    end(t);
}

void terminal_detach(struct terminal *t, struct effects *effects)
{
    begin(t, effects);
    terminal_link_stop(t, effects);
    t->focused = false;
    end(t);
}

static void drop_old_note(struct terminal *t)
{
    if (!t->note || t->now_ns - t->note_ns < TERMINAL_NOTE_NS)
        return;
    free(t->note);
    t->note = NULL;
    t->changed = true;
}

static void count_rate(struct terminal *t)
{
    int64_t passed = t->now_ns - t->ticked_ns;
    if (passed < 500000000 && passed >= 0)
        return;
    uint64_t rate = t->ticked_ns && passed > 0 ? t->counted * 1000 / (uint64_t)(passed / 1000000) : 0;
    t->changed |= rate != t->rate;
    t->rate = rate;
    t->counted = 0;
    t->ticked_ns = t->now_ns;
}

bool terminal_update(struct terminal *t, const struct message *message, struct effects *effects)
{
    bool taken = false;
    begin(t, effects);
    t->now_ns = message->now_ns;
    switch (message->type) {
    case MESSAGE_KEY:
        terminal_take_key(t, &message->key, effects);
        taken = true;
        break;
    case MESSAGE_TIME:
        count_rate(t);
        drop_old_note(t);
        terminal_link_tick(t, effects);
        break;
    case MESSAGE_DOWN:
        terminal_link_down(t, message->error ? message->error->message : _("hutchd is away"));
        break;
    case MESSAGE_UP:
        if (t->state == TERMINAL_LOST)
            terminal_link_start(t, effects);
        break;
    case MESSAGE_LINE:
    case MESSAGE_BYTES:
    case MESSAGE_ANSWER:
        taken = terminal_link_take(t, message, effects);
        break;
    case MESSAGE_SIZE:
    case MESSAGE_SETTINGS:
        break;
    }
    end(t);
    return taken;
}

enum terminal_ask terminal_asked(struct terminal *t)
{
    enum terminal_ask ask = t->ask;
    t->ask = TERMINAL_ASK_NONE;
    return ask;
}

void terminal_resize(struct terminal *t, int rows, int columns, struct effects *effects)
{
    if (rows == t->rows && columns == t->columns)
        return;
    begin(t, effects);
    t->rows = rows;
    t->columns = columns;
    emulator_resize(t->emulator, terminal_guest_rows(t), columns);
    terminal_scroll_keep(t, 0);
    terminal_link_size(t, effects);
    t->changed = true;
    end(t);
}

void terminal_focus(struct terminal *t, bool focused, struct effects *effects)
{
    if (focused == t->focused)
        return;
    begin(t, effects);
    t->focused = focused;
    const struct key_event event = {.type = KEY_EVENT_FOCUS, .on = focused};
    if (t->state == TERMINAL_LIVE)
        emulator_key(t->emulator, &event);
    if (!focused && t->mode != TERMINAL_SCROLL && t->mode != TERMINAL_SEARCH)
        t->mode = TERMINAL_TYPING;
    t->changed = true;
    end(t);
}

/* ---- what is asked ---- */

enum terminal_state terminal_state(const struct terminal *t)
{
    return t->state;
}

enum terminal_mode terminal_mode(const struct terminal *t)
{
    return t->mode;
}

int terminal_exit_status(const struct terminal *t)
{
    return t->state == TERMINAL_ENDED ? t->exit_status : t->state == TERMINAL_GONE ? 125 : 0;
}

const char *terminal_project(const struct terminal *t)
{
    return t->project;
}

const char *terminal_session(const struct terminal *t)
{
    return t->session;
}

const char *terminal_label(const struct terminal *t)
{
    return t->label;
}

const char *terminal_error(const struct terminal *t)
{
    return t->error;
}

const char *terminal_note(const struct terminal *t)
{
    return t->note;
}

const char *terminal_escape(const struct terminal *t)
{
    return *t->escape_name ? t->escape_name : NULL;
}

uint64_t terminal_rate(const struct terminal *t)
{
    return t->rate;
}

bool terminal_ticks(const struct terminal *t)
{
    return t->rate > 0 || t->counted > 0 || t->retry_ns != 0 || t->note;
}

bool terminal_changed(struct terminal *t)
{
    bool changed = t->changed;
    t->changed = false;
    return changed;
}

const struct emulator *terminal_emulator(const struct terminal *t)
{
    return t->emulator;
}

void terminal_scroll(const struct terminal *t, struct terminal_scroll *ret)
{
    *ret = t->scroll;
}
