#include "ui/term/input.h"

#include "base/alloc.h"
#include "base/text.h"
#include "ui/term/sequence.h"

#include <string.h>

#define ESC       0x1b
#define PASTE_END "\x1b[201~"

void input_init(struct input *input)
{
    *input = (struct input){0};
    buf_init(&input->bytes, 0);
    buf_init(&input->paste, 0);
}

void input_finish(struct input *input)
{
    buf_finish(&input->bytes);
    buf_finish(&input->paste);
}

/* ^C alone ends a paste whose end mark never came. */
static bool is_interrupt(const void *bytes, size_t len)
{
    static const char *const forms[] = {"\x03", "\x1b[99;5u"};
    for (size_t i = 0; i < countof(forms); i++)
        if (len == strlen(forms[i]) && !memcmp(bytes, forms[i], len))
            return true;
    return false;
}

void input_feed(struct input *input, const void *bytes, size_t len)
{
    if (input->pasting && is_interrupt(bytes, len)) {
        input->pasting = false;
        buf_consume(&input->paste, input->paste.len);
        buf_consume(&input->bytes, input->bytes.len);
    }
    require(buf_append(&input->bytes, bytes, len, NULL) == 0);
}

/* Takes control characters and what is no UTF-8 out of a paste, in place; returns the new length. */
static size_t paste_clean(char *text, size_t len)
{
    size_t to = 0;
    for (size_t at = 0; at < len;) {
        int32_t code;
        size_t n = text_decode(text + at, len - at, &code);
        if (code == '\r') {
            text[to++] = '\n';
            at += at + 1 < len && text[at + 1] == '\n' ? 2 : 1;
            continue;
        }
        if (code == '\n' || code == '\t' || (code >= 0x20 && (code < 0x7f || code > 0x9f))) {
            memmove(text + to, text + at, n);
            to += n;
        }
        at += n;
    }
    return to;
}

static void paste_end(struct input *input, struct key_event *ret_event)
{
    size_t len = input->paste.len;
    char *text = buf_take_string(&input->paste);
    *ret_event = (struct key_event){.type = KEY_EVENT_PASTE, .too_long = input->paste_lost};
    ret_event->paste_len = input->paste_lost ? 0 : paste_clean(text, len);
    text[ret_event->paste_len] = '\0';
    ret_event->paste = text;
    input->pasting = input->paste_lost = false;
}

/* Moves bytes of a paste over, up to the end mark or what may be the start of it. True: the paste is whole.
 */
static bool paste_take(struct input *input, struct key_event *ret_event)
{
    const uint8_t *data = buf_data(&input->bytes);
    size_t len = input->bytes.len, mark_len = strlen(PASTE_END);
    const uint8_t *mark = memmem(data, len, PASTE_END, mark_len);
    size_t take = mark ? (size_t)(mark - data) : len;
    for (size_t kept = mark ? 0 : mark_len - 1; kept > 0; kept--) {
        if (kept <= len && !memcmp(data + len - kept, PASTE_END, kept)) {
            take = len - kept;
            break;
        }
    }
    if (input->paste.len + take > KEY_PASTE_MAX)
        input->paste_lost = true;
    if (input->paste_lost)
        buf_consume(&input->paste, input->paste.len);
    else
        require(buf_append(&input->paste, data, take, NULL) == 0);
    buf_consume(&input->bytes, take + (mark ? mark_len : 0));
    if (mark)
        paste_end(input, ret_event);
    return mark != NULL;
}

/* Drops the string of an answer (a colour, a version): up to its end, or to what cannot be in one. */
static void string_take(struct input *input)
{
    const uint8_t *data = buf_data(&input->bytes);
    size_t at = 0;
    while (at < input->bytes.len && input->in_string) {
        uint8_t byte = data[at];
        if (byte == ESC && at + 1 == input->bytes.len)
            break; /* its end may have come in half */
        if (byte == ESC && data[at + 1] == '\\')
            at++;
        if (byte < 0x20 || ++input->string_len > INPUT_STRING_MAX)
            input->in_string = false;
        /* Another control character is a key that was pressed. */
        if (byte >= 0x20 || byte == 0x07 || (byte == ESC && data[at] == '\\'))
            at++;
    }
    buf_consume(&input->bytes, at);
}

/* Whether bytes after ESC begin an answer that is a string, and not Alt with a letter. */
static bool is_string_start(const uint8_t *data, size_t len)
{
    static const struct {
        uint8_t first;
        const char *next;
    } starts[] = {{']', "0123456789"}, {'P', "01>!"}, {'_', "G"}};
    for (size_t i = 0; len >= 3 && i < countof(starts); i++)
        if (data[1] == starts[i].first && data[2] && strchr(starts[i].next, data[2]))
            return true;
    return false;
}

static bool may_be_string(const uint8_t *data, size_t len)
{
    return len == 2 && (data[1] == ']' || data[1] == 'P' || data[1] == '_');
}

/* A character without an escape before it. Returns the bytes used, 0: not whole. */
static size_t take_character(struct input *input, const uint8_t *data, size_t len, bool late,
                             struct key_event *ret_event)
{
    int32_t code;
    size_t n = text_decode((const char *)data, len, &code);
    if (code < 0) {
        size_t want = data[0] >= 0xf0 ? 4 : data[0] >= 0xe0 ? 3 : data[0] >= 0xc2 ? 2 : 1;
        size_t have = 1;
        while (have < len && have < want && (data[have] & 0xc0) == 0x80)
            have++;
        return have == len && have < want && !late ? 0 : n; /* else dropped */
    }
    if (code >= 0x80 && code < 0xa0)
        return n; /* no key writes these */
    *ret_event = (struct key_event){.type = KEY_EVENT_CODE, .code = (uint32_t)code};
    if (code == 0x08 && input->erase_is_bs)
        ret_event->code = KEY_NAME_BACKSPACE;
    key_canonical(ret_event);
    return n;
}

/* ESC and what follows as a key with Alt, or the key Escape. */
static size_t take_alt(struct input *input, const uint8_t *data, size_t len, bool late,
                       struct key_event *ret_event)
{
    if (len == 1 || data[1] == ESC) {
        *ret_event = (struct key_event){.type = KEY_EVENT_CODE, .code = KEY_NAME_ESCAPE};
        return 1;
    }
    size_t n = take_character(input, data + 1, len - 1, late, ret_event);
    if (!n)
        return 0;
    ret_event->mods |= ret_event->type == KEY_EVENT_CODE ? KEY_ALT : 0;
    key_canonical(ret_event);
    return n + 1;
}

static void take_report(struct input *input, const struct sequence *sequence)
{
    if (sequence->final == 'R') {
        input->row = sequence->params[0];
        input->column = sequence->params[1];
        input->positions_seen++;
        input->positions--;
    } else if (sequence->final == 'c' && sequence->prefix == '?') {
        input->attributes_seen++;
    }
}

/* One CSI or SS3 sequence, with Alt if an ESC came before it. Returns the bytes used, 0: not whole. */
static size_t take_sequence(struct input *input, const uint8_t *data, size_t len, bool alt,
                            struct key_event *ret_event)
{
    struct sequence sequence;
    size_t n = sequence_parse(data, len, &sequence);
    if (!n || sequence.type == SEQUENCE_NONE)
        return n;
    bool position = sequence.final == 'R' && sequence.count == 2 && input->positions > 0;
    if (position || sequence.prefix == '?') {
        take_report(input, &sequence);
        return n;
    }
    if (sequence.final == '~' && sequence.params[0] == 200) {
        input->pasting = true;
        return n;
    }
    sequence_event(&sequence, ret_event);
    if (alt && ret_event->type == KEY_EVENT_CODE)
        ret_event->mods |= KEY_ALT;
    key_canonical(ret_event);
    return n;
}

/* What begins with ESC. Returns the bytes used, 0: more must come. */
static size_t take_escape(struct input *input, bool late, struct key_event *ret_event)
{
    const uint8_t *data = buf_data(&input->bytes);
    size_t len = input->bytes.len;
    if (is_string_start(data, len)) {
        input->in_string = true;
        input->string_len = 0;
        return 2;
    }
    if (may_be_string(data, len) && !late)
        return 0;
    size_t skip = len > 1 && data[1] == ESC ? 1 : 0; /* rxvt's Alt */
    bool opened = len > skip + 1 && (data[skip + 1] == '[' || data[skip + 1] == 'O');
    if (!opened && (len > skip + 1 || late))
        return take_alt(input, data, len, late, ret_event);
    if (!opened)
        return 0;
    if (len == skip + 2)
        return late ? take_alt(input, data, len, late, ret_event) : 0;
    size_t n = take_sequence(input, data + skip, len - skip, skip > 0, ret_event);
    if (n == SEQUENCE_NOT)
        return take_alt(input, data, len, late, ret_event);
    if (!n)
        return late ? len : 0; /* half a sequence: never its letters as keys */
    return skip + n;
}

bool input_next(struct input *input, bool late, struct key_event *ret_event)
{
    *ret_event = (struct key_event){0};
    if (late && !input->bytes.len)
        input->in_string = false;
    while (input->bytes.len > 0) {
        if (input->pasting) {
            if (paste_take(input, ret_event))
                return true;
            if (input->pasting)
                return false;
            continue;
        }
        if (input->in_string) {
            size_t before = input->bytes.len;
            string_take(input);
            if (input->in_string && late)
                input->in_string = false;
            else if (input->in_string && input->bytes.len == before)
                return false;
            continue;
        }
        const uint8_t *data = buf_data(&input->bytes);
        size_t n = data[0] == ESC ? take_escape(input, late, ret_event)
                                  : take_character(input, data, input->bytes.len, late, ret_event);
        if (!n)
            return false;
        buf_consume(&input->bytes, n);
        if (ret_event->type != KEY_EVENT_NONE)
            return true;
    }
    return false;
}

int input_wait(const struct input *input)
{
    const uint8_t *data = buf_data(&input->bytes);
    size_t len = input->bytes.len;
    if (input->pasting || (!len && !input->in_string))
        return -1;
    if (input->in_string || data[0] != ESC)
        return INPUT_SEQUENCE_MS;
    size_t skip = len > 1 && data[1] == ESC ? 1 : 0;
    return len <= skip + 2 ? INPUT_ESCAPE_MS : INPUT_SEQUENCE_MS;
}
