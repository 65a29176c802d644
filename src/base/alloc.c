#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program: there is no state to go on with. */
static void out_of_memory(void)
{
    fputs("out of memory\n", stderr);
    abort();
}

void require_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not as required: %s\n", file, line, condition);
    abort();
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xrealloc(void *p, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total))
        out_of_memory();
    void *out = realloc(p, total ? total : 1);
    if (!out)
        out_of_memory();
    return out;
}

char *xstrdup(const char *s)
{
    return s ? xmemdup(s, strlen(s) + 1) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *out = xrealloc(NULL, len + 1, 1);
    memcpy(out, s, len);
    out[len] = '\0';
    return out;
}

void *xmemdup(const void *p, size_t n)
{
    void *out = xrealloc(NULL, n, 1);
    if (n)
        memcpy(out, p, n);
    return out;
}

char *xvasprintf(const char *format, va_list args)
{
    char *out;
    if (vasprintf(&out, format, args) < 0)
        out_of_memory();
    return out;
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *out = xvasprintf(format, args);
    va_end(args);
    return out;
}
