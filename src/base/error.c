#include "base/error.h"

#include "base/alloc.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

/* Longest message or hint in bytes: they may quote what another program or machine said. */
#define MESSAGE_MAX 2048

struct code_row {
    const char *name, *about;
    int exit, http;
};

static const struct code_row code_rows[ERROR_COUNT] = {
    [ERROR_NONE] = {"none", "no error", 0, 200},
#define X(name, wire, exit, http, about) [ERROR_##name] = {wire, about, exit, http},
#include "base/error.def"
#undef X
};

/* One safe line: escapes what a terminal or a log must not see. Takes over line. */
static char *one_line(char *line)
{
    struct text text;
    text_init(&text, line, strlen(line), MESSAGE_MAX, TEXT_DEFAULT);
    free(line);
    return text.bytes;
}

int error_vset(struct error **err, enum error_code code, const char *format, va_list args)
{
    require(code > ERROR_NONE && code < ERROR_COUNT);
    if (!err)
        return -(int)code;
    require(!*err);
    struct error *out = xnew(struct error);
    out->code = code;
    out->message = one_line(xvasprintf(format, args));
    *err = out;
    return -(int)code;
}

int error_set(struct error **err, enum error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_vset(err, code, format, args);
    va_end(args);
    return -(int)code;
}

int error_set_errno(struct error **err, int sys, const char *format, ...)
{
    enum error_code code = ERROR_IO;
    if (sys == ENOSPC || sys == EDQUOT)
        code = ERROR_NO_SPACE;
    else if (sys == ENOENT)
        code = ERROR_NOT_FOUND;
    if (!err)
        return -(int)code;
    va_list args;
    va_start(args, format);
    autofree char *what = xvasprintf(format, args);
    va_end(args);
    char words[128];
    error_set(err, code, "%s: %s", what, strerror_r(sys, words, sizeof(words)));
    (*err)->sys = sys;
    return -(int)code;
}

int error_prefix(struct error **err, const char *format, ...)
{
    if (!err || !*err)
        return -ERROR_FAILED;
    va_list args;
    va_start(args, format);
    autofree char *prefix = xvasprintf(format, args);
    va_end(args);
    char *message = xasprintf("%s: %s", prefix, (*err)->message);
    free((*err)->message);
    (*err)->message = one_line(message);
    return -(int)(*err)->code;
}

int error_hint(struct error **err, const char *format, ...)
{
    if (!err || !*err)
        return -ERROR_FAILED;
    va_list args;
    va_start(args, format);
    char *hint = one_line(xvasprintf(format, args));
    va_end(args);
    free((*err)->hint);
    (*err)->hint = hint;
    return -(int)(*err)->code;
}

int error_move(struct error **dst, struct error **src)
{
    struct error *err = steal(src);
    if (!err)
        return 0;
    int code = -(int)err->code;
    if (dst) {
        require(!*dst);
        *dst = err;
    } else {
        error_free(err);
    }
    return code;
}

struct error *error_copy(const struct error *err)
{
    if (!err)
        return NULL;
    struct error *out = xmemdup(err, sizeof(*err));
    out->message = xstrdup(err->message);
    out->hint = xstrdup(err->hint);
    return out;
}

void error_free(struct error *err)
{
    if (!err)
        return;
    free(err->message);
    free(err->hint);
    free(err);
}

/* A code out of range (from a peer, from a newer version) reads as FAILED. */
static const struct code_row *code_row(enum error_code code)
{
    return &code_rows[(unsigned)code < ERROR_COUNT ? code : ERROR_FAILED];
}

const char *error_code_name(enum error_code code)
{
    return code_row(code)->name;
}

enum error_code error_code_from_name(const char *name)
{
    for (int i = ERROR_NONE + 1; name && i < ERROR_COUNT; i++)
        if (!strcmp(code_rows[i].name, name))
            return i;
    return ERROR_FAILED;
}

int error_code_exit(enum error_code code)
{
    return code_row(code)->exit;
}

int error_code_http(enum error_code code)
{
    return code_row(code)->http;
}

const char *error_code_about(enum error_code code)
{
    return code_row(code)->about;
}
