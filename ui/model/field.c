#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

char *field_value(const json_t *value)
{
    switch (json_typeof(value ? value : json_null())) {
    case JSON_STRING: {
        struct text text;
        text_init(&text, json_string_value(value), json_string_length(value), FIELD_MAX, TEXT_DEFAULT);
        char *bytes = steal(&text.bytes);
        text_finish(&text);
        return bytes;
    }
    case JSON_INTEGER:
        return xasprintf("%lld", (long long)json_integer_value(value));
    case JSON_TRUE:
        return xstrdup(_("yes"));
    case JSON_FALSE:
        return xstrdup(_("no"));
    default:
        return xstrdup("");
    }
}

char *field_text(const json_t *json, const char *key)
{
    return field_value(json_object_get(json, key));
}

static int64_t limited(int64_t number)
{
    return number > FIELD_NUMBER_MAX    ? FIELD_NUMBER_MAX
           : number < -FIELD_NUMBER_MAX ? -FIELD_NUMBER_MAX
                                        : number;
}

int64_t field_number(const json_t *json, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(json, key);
    return json_is_integer(value) ? limited(json_integer_value(value)) : fallback;
}

int64_t field_ns(int64_t ms)
{
    return ms <= 0 ? 0 : ms < FIELD_NUMBER_MAX / 1000000 ? ms * 1000000 : FIELD_NUMBER_MAX;
}

int64_t field_sum(int64_t a, int64_t b)
{
    return limited(limited(a) + limited(b));
}

static void encode(struct buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (isalnum(c) || strchr("-._~", c))
            buf_append(out, &c, 1, NULL);
        else
            buf_printf(out, NULL, "%%%02X", c);
    }
}

char *field_fill(const char *words, const char *subject)
{
    const char *at = words ? strstr(words, "%s") : NULL;
    return at ? xasprintf("%.*s%s%s", (int)(at - words), words, subject, at + 2) : xstrdup(words);
}

char *field_path(const char *format, ...)
{
    struct buf out;
    va_list args;
    buf_init(&out, 0);
    va_start(args, format);
    for (const char *at = format; *at; at++) {
        if (at[0] == '%' && at[1] == 's') {
            encode(&out, va_arg(args, const char *));
            at++;
        } else {
            buf_append(&out, at, 1, NULL);
        }
    }
    va_end(args);
    return buf_take_string(&out);
}

/* A time where the person is; false: there is none. */
static bool local_time(int64_t ns, struct tm *ret)
{
    time_t seconds = (time_t)(ns / 1000000000);
    return ns > 0 && localtime_r(&seconds, ret);
}

void field_clock(int64_t ns, char ret[24])
{
    struct tm tm;
    if (!local_time(ns, &tm) || !strftime(ret, 24, "%H:%M:%S", &tm))
        snprintf(ret, 24, "-");
}

void field_clock_short(int64_t ns, char ret[24])
{
    struct tm tm;
    if (!local_time(ns, &tm) || !strftime(ret, 24, "%H:%M", &tm))
        snprintf(ret, 24, "-");
}

void field_date(int64_t ns, char ret[24])
{
    struct tm tm;
    if (!local_time(ns, &tm) || !strftime(ret, 24, "%Y-%m-%d %H:%M:%S", &tm))
        snprintf(ret, 24, "-");
}

void field_duration(int64_t ms, char ret[24])
{
    if (ms < 0)
        snprintf(ret, 24, "-");
    else if (ms < 10000)
        snprintf(ret, 24, "%lld.%llds", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
    else
        units_format_duration((uint64_t)ms / 1000, ret);
}

const char *field_word(const char *wire)
{
    static const char *const words[] = {N_("allow"),  N_("ask"),    N_("deny"),    N_("budget"),
                                        N_("open"),   N_("ready"),  N_("kernel"),  N_("agent"),
                                        N_("system"), N_("failed"), N_("project"), N_("session")};
    for (size_t i = 0; i < countof(words); i++)
        if (!strcmp(words[i], wire))
            return _(words[i]);
    return wire;
}
