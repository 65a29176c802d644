/* alloc.h: checked allocation. Out of memory aborts with a line on stderr; a size that came from outside
 * is limited by its reader before it gets here. */
#ifndef HUTCH_BASE_ALLOC_H
#define HUTCH_BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

/* Zeroed memory for n objects of size bytes each; aborts on overflow or exhaustion. Caller frees. */
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
/* Like realloc for n objects of size bytes; n * size of 0 gives a valid one-byte block. */
void *xrealloc(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
/* Copies of strings and memory; NULL in gives NULL out for xstrdup. Caller frees. */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n) __attribute__((returns_nonnull));
void *xmemdup(const void *p, size_t n) __attribute__((returns_nonnull));
/* printf into a fresh string. Caller frees. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *xvasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0), returns_nonnull));

#define xnew(type)     ((type *)xcalloc(1, sizeof(type)))
#define xnewn(type, n) ((type *)xcalloc((n), sizeof(type)))

/* A programming error ends the program, also in release builds. */
#define require(condition) ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__))
void require_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

#define countof(array) (sizeof(array) / sizeof((array)[0]))

#endif
