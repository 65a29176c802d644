/* Fuzz target of what a terminal sends: the same events in one read and in two, no code that is no key, no
 * control character in a paste, nothing left that never becomes an event. */
#include "base/alloc.h"
#include "ui/term/input.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_event(const struct key_event *event)
{
    char name[24];
    key_name(event, name);
    require(strlen(name) < sizeof(name));
    require(event->row >= 0 && event->column >= 0 && event->button >= 0 && event->button <= 3);
    if (event->type == KEY_EVENT_CODE) {
        struct key_event again;
        require(event->code >= 0x20 && event->code <= KEY_NAME_F12 && event->code != KEY_NAMED);
        require(key_parse(name, &again, NULL) == 0 && key_equal(event, &again));
    }
    require(event->type != KEY_EVENT_PASTE || (event->paste && strlen(event->paste) == event->paste_len));
    for (size_t i = 0; i < event->paste_len; i++) {
        unsigned char byte = (unsigned char)event->paste[i];
        require((byte >= 0x20 && byte != 0x7f) || byte == '\n' || byte == '\t');
    }
}

static void drain(struct input *input, bool late, struct buf *log)
{
    struct key_event event;
    while (input_next(input, late, &event)) {
        check_event(&event);
        buf_printf(log, NULL, "%d %x %d %d %d %d %d %d %zu\n", (int)event.type, event.code, event.mods,
                   (int)event.act, event.button, event.row, event.column, event.on, event.paste_len);
        key_event_finish(&event);
    }
}

/* ^C in a read of its own ends a paste: such a division does mean something. */
static bool is_plain(const uint8_t *data, size_t size)
{
    return !memchr(data, 0x03, size) && !memmem(data, size, "\x1b[99;5u", 7);
}

static char *read_in_two(const uint8_t *data, size_t size, size_t at)
{
    struct input input;
    struct buf log;
    input_init(&input);
    buf_init(&log, 0);
    input.positions = 1;
    input_feed(&input, data, at);
    drain(&input, false, &log);
    input_feed(&input, data + at, size - at);
    drain(&input, false, &log);
    for (int i = 0; i < 3; i++)
        drain(&input, true, &log);
    require(input_wait(&input) == -1);
    char *events = buf_take_string(&log);
    buf_finish(&log);
    input_finish(&input);
    return events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t at = (size_t)(data[0] << 8 | data[1]) % (size - 1);
    data += 2;
    size -= 2;
    if (at > size)
        at = size;
    autofree char *whole = read_in_two(data, size, 0), *split = read_in_two(data, size, at);
    require(!is_plain(data, size) || strcmp(whole, split) == 0);
    return 0;
}
