#include "ui/term/osc.h"

#include "base/alloc.h"
#include "base/text.h"
#include "ui/grid/grid.h"

#include <string.h>

#define END "\x07"

static void add(struct buf *out, const char *bytes, size_t len)
{
    require(buf_append(out, bytes, len, NULL) == 0);
}

/* Text without anything that a terminal could act on. */
static void add_text(struct buf *out, const char *text, bool utf8)
{
    size_t len = strlen(text), used = 0;
    for (size_t at = 0; at < len;) {
        int32_t code;
        size_t n = text_decode(text + at, len - at, &code);
        if (used + n > OSC_TEXT_MAX)
            return;
        if (code >= 0x80 && !utf8)
            add(out, "?", text_width((uint32_t)code) > 0);
        else if (code >= 0 && cell_code_ok((uint32_t)code))
            add(out, text + at, n);
        used += n;
        at += n;
    }
}

static void add_base64(struct buf *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        bits |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        bits |= n > 2 ? bytes[i + 2] : 0;
        char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63], '=', '='};
        if (n > 1)
            four[2] = digits[bits >> 6 & 63];
        if (n > 2)
            four[3] = digits[bits & 63];
        add(out, four, 4);
    }
}

/* A sequence for the terminal around tmux: each ESC twice. */
static void add_passed(struct buf *out, const struct buf *sequence)
{
    const uint8_t *bytes = buf_data(sequence);
    add(out, "\x1bPtmux;", 7);
    for (size_t i = 0; i < sequence->len; i++)
        add(out, bytes[i] == 0x1b ? "\x1b\x1b" : (const char *)bytes + i, bytes[i] == 0x1b ? 2 : 1);
    add(out, "\x1b\\", 2);
}

void osc_title(const char *safe, bool utf8, struct buf *out)
{
    add(out, "\x1b]0;", 4);
    add_text(out, safe, utf8);
    add(out, END, 1);
}

void osc_copy(const char *bytes, size_t len, bool tmux, struct buf *out)
{
    struct buf sequence;
    buf_init(&sequence, 0);
    add(&sequence, "\x1b]52;c;", 7);
    add_base64(&sequence, (const uint8_t *)bytes, len);
    add(&sequence, END, 1);
    add(out, (const char *)buf_data(&sequence), sequence.len);
    if (tmux)
        add_passed(out, &sequence);
    buf_finish(&sequence);
}

void osc_notify(const char *safe, enum osc_notify kind, bool tmux, bool utf8, struct buf *out)
{
    static const char *const starts[] = {[OSC_9] = "\x1b]9;", [OSC_777] = "\x1b]777;notify;hutch;"};
    struct buf sequence;
    buf_init(&sequence, 0);
    add(&sequence, starts[kind], strlen(starts[kind]));
    /* "9;4;…" and its like are commands of some terminals. */
    if (kind == OSC_9 && *safe >= '0' && *safe <= '9')
        add(&sequence, "hutch: ", 7);
    add_text(&sequence, safe, utf8);
    add(&sequence, END, 1);
    if (tmux)
        add_passed(out, &sequence);
    else
        add(out, (const char *)buf_data(&sequence), sequence.len);
    buf_finish(&sequence);
}
