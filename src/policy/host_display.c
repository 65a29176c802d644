/* How a name is shown: A-labels, what they decode to, and what may mislead in that. */
#include "policy/host.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/words.h"
#include "policy/host_internal.h"
#include "policy/suffix.h"

#include <string.h>

/* Bits of scripts; what is not in the table is OTHER, digits and "-" are none. */
enum script {
    LATIN = 1,
    GREEK = 2,
    CYRILLIC = 4,
    HAN = 8,
    KANA = 16,
    BOPOMOFO = 32,
    HANGUL = 64,
    ARMENIAN = 128,
    HEBREW = 256,
    ARABIC = 512,
    CHEROKEE = 1024,
    OTHER = 2048,
};

static enum script script_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        enum script script;
    } table[] = {
        {'A', 'Z', LATIN},          {'a', 'z', LATIN},          {0xc0, 0x24f, LATIN},
        {0x250, 0x2af, LATIN},      {0x370, 0x3ff, GREEK},      {0x400, 0x52f, CYRILLIC},
        {0x531, 0x58f, ARMENIAN},   {0x590, 0x5ff, HEBREW},     {0x600, 0x6ff, ARABIC},
        {0x750, 0x77f, ARABIC},     {0x1100, 0x11ff, HANGUL},   {0x13a0, 0x13ff, CHEROKEE},
        {0x1d00, 0x1dbf, LATIN},    {0x1e00, 0x1eff, LATIN},    {0x1f00, 0x1fff, GREEK},
        {0x2de0, 0x2dff, CYRILLIC}, {0x2e80, 0x2fdf, HAN},      {0x3005, 0x3007, HAN},
        {0x3041, 0x30ff, KANA},     {0x3100, 0x312f, BOPOMOFO}, {0x3130, 0x318f, HANGUL},
        {0x31a0, 0x31bf, BOPOMOFO}, {0x31f0, 0x31ff, KANA},     {0x3400, 0x9fff, HAN},
        {0xa640, 0xa69f, CYRILLIC}, {0xa720, 0xa7ff, LATIN},    {0xab30, 0xab6f, LATIN},
        {0xab70, 0xabbf, CHEROKEE}, {0xac00, 0xd7af, HANGUL},   {0xf900, 0xfaff, HAN},
        {0x20000, 0x3ffff, HAN},
    };
    for (size_t i = 0; i < countof(table); i++)
        if (c >= table[i].first && c <= table[i].last)
            return table[i].script;
    return c < 0x80 || c == 0xb7 || (c >= 0x300 && c <= 0x36f) ? 0 : OTHER;
}

/* Letters of Cyrillic, Greek, Armenian and Cherokee that are drawn as Latin ones. */
static bool looks_latin(uint32_t c)
{
    static const uint16_t letters[] = {
        0x0430, 0x0435, 0x043e, 0x0440, 0x0441, 0x0443, 0x0445, 0x0455, 0x0456, 0x0458,
        0x0475, 0x04bb, 0x04cf, 0x0501, 0x051b, 0x051d, 0x043a, 0x043c, 0x043d, 0x0432,
        0x0442, 0x0433, 0x03b1, 0x03b5, 0x03b9, 0x03ba, 0x03bd, 0x03bf, 0x03c1, 0x03c4,
        0x03c5, 0x03c7, 0x03c9, 0x0561, 0x0570, 0x0578, 0x057d, 0x0585, 0x0566, 0x0581,
    };
    for (size_t i = 0; i < countof(letters); i++)
        if (letters[i] == c)
            return true;
    return false;
}

static bool written_together(unsigned scripts)
{
    static const unsigned sets[] = {LATIN | HAN | KANA, LATIN | HAN | BOPOMOFO, LATIN | HAN | HANGUL};
    if (!(scripts & (scripts - 1)))
        return true;
    for (size_t i = 0; i < countof(sets); i++)
        if (!(scripts & ~sets[i]))
            return true;
    return false;
}

static enum host_warning judge(const char *decoded)
{
    unsigned scripts = 0;
    bool alike = true;
    size_t len = strlen(decoded);
    for (size_t i = 0; i < len;) {
        int32_t c;
        i += text_decode(decoded + i, len - i, &c);
        enum script script = script_of((uint32_t)c);
        scripts |= script;
        alike = alike && (!script || looks_latin((uint32_t)c));
    }
    if (!written_together(scripts))
        return HOST_MIXED_SCRIPTS;
    return alike && scripts ? HOST_LOOKALIKE : HOST_PLAIN;
}

void host_display_init(struct host_display *display, const struct host *host)
{
    char text[HOST_FORMAT_MAX];
    *display = (struct host_display){.text = xstrdup(host_format(host, 0, text))};
    if (host->kind != HOST_NAME)
        return;
    display->registrable = xstrdup(suffix_registrable(host->text));
    struct buf decoded;
    buf_init(&decoded, 0);
    bool foreign = false;
    for (const char *label = host->text;;) {
        size_t len = strcspn(label, ".");
        autofree char *name = len > 4 && !memcmp(label, "xn--", 4) ? host_idn_decode(label, len) : NULL;
        if (name) {
            enum host_warning warning = judge(name);
            foreign = true;
            if (warning && display->warning != HOST_MIXED_SCRIPTS)
                display->warning = warning;
            buf_append(&decoded, name, strlen(name), NULL);
        } else {
            buf_append(&decoded, label, len, NULL);
        }
        if (!label[len])
            break;
        buf_append(&decoded, ".", 1, NULL);
        label += len + 1;
    }
    autofree char *whole = buf_take_string(&decoded);
    if (foreign)
        display->decoded = text_safe(whole);
    buf_finish(&decoded);
}

void host_display_finish(struct host_display *display)
{
    free(display->text);
    free(display->decoded);
    free(display->registrable);
    *display = (struct host_display){0};
}

const char *host_warning_words(enum host_warning warning)
{
    switch (warning) {
    case HOST_MIXED_SCRIPTS:
        return N_("letters of different scripts in one word: it may imitate another name");
    case HOST_LOOKALIKE:
        return N_("all its letters look like Latin ones and are not: it may imitate another name");
    default:
        return NULL;
    }
}
