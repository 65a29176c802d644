#include "ui/model/input.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

void input_set(struct input *input, const char *text)
{
    size_t len = strlen(text);
    input->len = len < INPUT_MAX ? len : 0;
    memcpy(input->text, text, input->len);
    input->text[input->len] = 0;
    input->at = input->len;
}

static void insert(struct input *input, const char *bytes, size_t len)
{
    if (!len || len > INPUT_MAX - input->len)
        return;
    memmove(input->text + input->at + len, input->text + input->at, input->len - input->at + 1);
    memcpy(input->text + input->at, bytes, len);
    input->len += len;
    input->at += len;
}

static size_t before(const struct input *input)
{
    size_t at = input->at;
    while (at > 0 && ((unsigned char)input->text[--at] & 0xc0) == 0x80)
        continue;
    return at;
}

static size_t after(const struct input *input)
{
    size_t at = input->at < input->len ? input->at + 1 : input->at;
    while (at < input->len && ((unsigned char)input->text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static void cut(struct input *input, size_t from, size_t to)
{
    memmove(input->text + from, input->text + to, input->len - to + 1);
    input->len -= to - from;
    input->at = from;
}

static size_t word_start(const struct input *input)
{
    size_t at = input->at;
    while (at > 0 && input->text[at - 1] == ' ')
        at--;
    while (at > 0 && input->text[at - 1] != ' ')
        at--;
    return at;
}

/* UTF-8 of a code point; 0: it is none. */
static size_t encode(uint32_t code, char ret[4])
{
    if (code < 0x80) {
        ret[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : code < 0x110000 ? 4 : 0;
    for (size_t i = len; i-- > 1; code >>= 6)
        ret[i] = (char)(0x80 | (code & 0x3f));
    if (len)
        ret[0] = (char)((0xf00u >> len & 0xff) | code);
    return len;
}

/* Puts in what can be shown as it is; all else is left out. */
static bool type(struct input *input, uint32_t code)
{
    char bytes[8] = "";
    size_t len = encode(code, bytes);
    autofree char *safe = text_safe(bytes);
    if (!len || code < 0x20 || code == 0x7f || strcmp(safe, bytes) != 0)
        return false;
    insert(input, bytes, len);
    return true;
}

/* The first line of what was pasted. */
static void paste(struct input *input, const struct key_event *key)
{
    for (size_t i = 0; i < key->paste_len && key->paste[i] != '\n';) {
        int32_t code;
        i += text_decode(key->paste + i, key->paste_len - i, &code);
        if (code == '\t')
            code = ' ';
        if (code > 0)
            type(input, (uint32_t)code);
    }
}

static enum input_result control(struct input *input, uint32_t code)
{
    switch (code) {
    case 'a':
        input->at = 0;
        return INPUT_MOVED;
    case 'e':
        input->at = input->len;
        return INPUT_MOVED;
    case 'u':
        cut(input, 0, input->at);
        return INPUT_CHANGED;
    case 'w':
        cut(input, word_start(input), input->at);
        return INPUT_CHANGED;
    case 'k':
        cut(input, input->at, input->len);
        return INPUT_CHANGED;
    default:
        return INPUT_IGNORED;
    }
}

static enum input_result named(struct input *input, uint32_t code)
{
    switch (code) {
    case KEY_NAME_ENTER:
        return INPUT_DONE;
    case KEY_NAME_ESCAPE:
        return INPUT_CANCEL;
    case KEY_NAME_BACKSPACE:
        cut(input, before(input), input->at);
        return INPUT_CHANGED;
    case KEY_NAME_DELETE:
        cut(input, input->at, after(input));
        return INPUT_CHANGED;
    case KEY_NAME_LEFT:
        input->at = before(input);
        return INPUT_MOVED;
    case KEY_NAME_RIGHT:
        input->at = after(input);
        return INPUT_MOVED;
    case KEY_NAME_HOME:
        input->at = 0;
        return INPUT_MOVED;
    case KEY_NAME_END:
        input->at = input->len;
        return INPUT_MOVED;
    default:
        return INPUT_IGNORED;
    }
}

enum input_result input_key(struct input *input, const struct key_event *key)
{
    if (key->type == KEY_EVENT_PASTE) {
        paste(input, key);
        return INPUT_CHANGED;
    }
    if (key->type != KEY_EVENT_CODE)
        return INPUT_IGNORED;
    if (key->code > KEY_NAMED)
        return named(input, key->code);
    if (key->mods & KEY_CTRL)
        return control(input, key->code);
    if (key->mods & KEY_ALT)
        return INPUT_IGNORED;
    return type(input, key->code) ? INPUT_CHANGED : INPUT_MOVED;
}

int input_column(const struct input *input)
{
    size_t columns = 0;
    text_clip(input->text, input->at, SIZE_MAX, &columns);
    return (int)columns;
}
