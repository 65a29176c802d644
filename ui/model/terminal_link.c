/* What a terminal has open at hutchd: the session's record, its output, its input, its size; and how it comes
 * back after one of them was cut. */
#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "ui/model/terminal_state.h"

#include <string.h>

static struct effect *add(struct terminal *t, struct effects *effects, enum effect_type type,
                          const char *method, const char *suffix, uint64_t *id)
{
    struct effect *effect = effects_add(effects, type);
    effect->id = *id = ++*t->ids;
    effect->method = xstrdup(method);
    effect->path = xasprintf("%s%s", t->path, suffix);
    return effect;
}

static void cancel(struct effects *effects, uint64_t *id)
{
    if (*id)
        effects_add(effects, EFFECT_CANCEL)->id = *id;
    *id = 0;
}

static void set_state(struct terminal *t, enum terminal_state state, const char *why)
{
    free(t->error);
    free(t->note);
    t->error = t->note = NULL;
    if (why)
        t->error = text_safe(why);
    t->state = state;
    t->changed = true;
}

void terminal_link_start(struct terminal *t, struct effects *effects)
{
    if (t->state == TERMINAL_ENDED || t->state == TERMINAL_GONE || t->record_id || t->output_id)
        return;
    t->retry_ns = 0;
    add(t, effects, EFFECT_CALL, "GET", "", &t->record_id);
    t->changed = true;
}

void terminal_link_stop(struct terminal *t, struct effects *effects)
{
    uint64_t *ids[] = {&t->record_id, &t->output_id, &t->input_id, &t->wait_id};
    for (size_t i = 0; i < countof(ids); i++)
        cancel(effects, ids[i]);
    t->resize_id = 0;
    t->retry_ns = 0;
}

static void forget(struct terminal *t)
{
    t->record_id = t->output_id = t->input_id = t->wait_id = t->resize_id = 0;
    t->sent_rows = t->sent_columns = 0;
}

void terminal_link_down(struct terminal *t, const char *why)
{
    forget(t);
    t->retry_ns = 0;
    if (t->state != TERMINAL_ENDED && t->state != TERMINAL_GONE)
        set_state(t, TERMINAL_LOST, why);
}

/* Whether it is worth another try: the machine may be saved, starting, or its worker new. */
static bool passing(const struct error *err)
{
    switch (err->code) {
    case ERROR_NOT_FOUND:
    case ERROR_DENIED:
    case ERROR_USAGE:
    case ERROR_INVALID:
        return false;
    default:
        return true;
    }
}

static void failed(struct terminal *t, const struct error *err, struct effects *effects)
{
    terminal_link_stop(t, effects);
    forget(t);
    if (!passing(err)) {
        set_state(t, TERMINAL_GONE, err->message);
        return;
    }
    set_state(t, TERMINAL_LOST, err->message);
    t->retry_ns = t->now_ns + TERMINAL_RETRY_NS;
}

void terminal_link_tick(struct terminal *t, struct effects *effects)
{
    if (t->state == TERMINAL_LOST && t->retry_ns && t->now_ns >= t->retry_ns)
        terminal_link_start(t, effects);
}

/* ---- the size ---- */

void terminal_link_size(struct terminal *t, struct effects *effects)
{
    int rows = terminal_guest_rows(t), columns = t->columns;
    if (t->state != TERMINAL_LIVE || t->resize_id)
        return;
    bool nudge = t->nudge && rows > 1;
    if (!nudge && rows == t->sent_rows && columns == t->sent_columns)
        return;
    /* A program draws anew only for another size than the one it knows: one that is a row lower, then this.
     */
    t->nudge = false;
    if (nudge)
        rows--;
    struct effect *effect = add(t, effects, EFFECT_CALL, "POST", "/resize", &t->resize_id);
    effect->body = json_pack("{s:i, s:i}", "rows", rows, "columns", columns);
    t->sent_rows = rows;
    t->sent_columns = columns;
}

/* ---- input ---- */

void terminal_link_input(struct terminal *t, const uint8_t *bytes, size_t len, struct effects *effects)
{
    if (t->state != TERMINAL_LIVE && t->state != TERMINAL_ATTACHING)
        return;
    struct effect *effect;
    if (t->input_id) {
        effect = effects_add(effects, EFFECT_WRITE);
        effect->id = t->input_id;
    } else {
        effect = add(t, effects, EFFECT_WRITE, "POST", "/stdin", &t->input_id);
    }
    require(buf_append(&effect->bytes, bytes, len, NULL) == 0);
}

/* ---- the record and the output ---- */

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static void take_record(struct terminal *t, const json_t *body, struct effects *effects)
{
    const char *state = json_string_value(json_object_get(body, "state"));
    if (state && strcmp(state, "lost") == 0) {
        set_state(t, TERMINAL_GONE, _("the session was lost: its own process in the machine was killed"));
        return;
    }
    if (!t->positioned)
        t->replay_until = number_of(body, "out_total");
    char suffix[48] = "/stdout";
    if (t->positioned)
        snprintf(suffix, sizeof(suffix), "/stdout?from=%llu", (unsigned long long)t->offset);
    add(t, effects, EFFECT_BYTES, "GET", suffix, &t->output_id);
    bool back = t->attached;
    t->attached = true;
    set_state(t, TERMINAL_LIVE, NULL);
    if (back)
        terminal_say(t, _("connected again"));
    if (!state || strcmp(state, "exited") != 0)
        terminal_link_size(t, effects);
}

static void feed(struct terminal *t, const uint8_t *bytes, size_t len)
{
    uint64_t before = emulator_scrolled(t->emulator);
    emulator_feed(t->emulator, bytes, len);
    uint64_t rows = emulator_scrolled(t->emulator) - before;
    terminal_scroll_keep(t, rows < EMULATOR_LINES ? (int)rows : EMULATOR_LINES);
    t->offset += len;
    t->counted += len;
}

static void take_output(struct terminal *t, const struct message *message, struct effects *effects)
{
    const uint8_t *bytes = message->bytes;
    size_t len = message->len;
    if (!t->positioned) {
        t->nudge = message->offset > 0;
        t->offset = message->offset;
        t->positioned = true;
    } else if (message->offset > t->offset) {
        terminal_say(t, _("%llu bytes of output were overwritten meanwhile"),
                     (unsigned long long)(message->offset - t->offset));
        t->nudge = true;
        t->offset = message->offset;
    } else if (message->offset < t->offset) {
        uint64_t known = t->offset - message->offset;
        if (known >= len)
            return;
        bytes += known;
        len -= (size_t)known;
    }
    if (t->offset < t->replay_until) {
        uint64_t rest = t->replay_until - t->offset;
        size_t part = rest < len ? (size_t)rest : len;
        t->muted = true;
        feed(t, bytes, part);
        t->muted = false;
        bytes += part;
        len -= part;
    }
    if (len > 0)
        feed(t, bytes, len);
    if (t->nudge)
        terminal_link_size(t, effects);
}

static void take_end(struct terminal *t, const json_t *body)
{
    t->exit_status = (int)number_of(body, "exit_status") & 0xff;
    set_state(t, TERMINAL_ENDED, NULL);
    t->mode = t->mode == TERMINAL_SCROLL || t->mode == TERMINAL_SEARCH ? t->mode : TERMINAL_TYPING;
    if (t->alone && t->mode == TERMINAL_TYPING)
        t->ask = TERMINAL_ASK_CLOSE;
}

static bool take_answer(struct terminal *t, const struct message *message, struct effects *effects)
{
    uint64_t id = message->id;
    const struct error *err = message->error;
    if (id == t->record_id) {
        t->record_id = 0;
        if (err)
            failed(t, err, effects);
        else
            take_record(t, message->body, effects);
    } else if (id == t->output_id) {
        t->output_id = 0;
        if (err)
            failed(t, err, effects);
        else
            add(t, effects, EFFECT_CALL, "GET", "/wait", &t->wait_id);
    } else if (id == t->wait_id) {
        t->wait_id = 0;
        cancel(effects, &t->input_id);
        if (err)
            failed(t, err, effects);
        else
            take_end(t, message->body);
    } else if (id == t->input_id) {
        t->input_id = 0;
    } else if (id == t->copy_id) {
        t->copy_id = 0;
        if (err)
            terminal_say(t, _("not copied: %s"), err->message);
    } else if (id == t->resize_id) {
        t->resize_id = 0;
        if (!err)
            terminal_link_size(t, effects);
    } else {
        return false;
    }
    return true;
}

bool terminal_link_take(struct terminal *t, const struct message *message, struct effects *effects)
{
    if (!message->id)
        return false;
    if (message->type == MESSAGE_ANSWER)
        return take_answer(t, message, effects);
    if (message->type == MESSAGE_BYTES && message->id == t->output_id) {
        take_output(t, message, effects);
        return true;
    }
    return false;
}
