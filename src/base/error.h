/* error.h: the error object. A function that can fail returns 0 or a negative code (or a pointer or NULL) and
 * takes `struct error **err` last. err may be NULL: then only the code is returned. */
#ifndef HUTCH_BASE_ERROR_H
#define HUTCH_BASE_ERROR_H

#include "base/cleanup.h"

#include <stdarg.h>

enum error_code {
    ERROR_NONE,
#define X(name, wire, exit, http, about) ERROR_##name,
#include "base/error.def"
#undef X
    ERROR_COUNT
};

/* One line for a person: the object in quotes and what to do next. hint is a second line or NULL. */
struct error {
    enum error_code code;
    int sys; /* errno, or 0 */
    char *message;
    char *hint;
};

/* Sets *err (which must be NULL before) and returns -code, so that one statement reports and returns. The
 * message becomes one safe line (text.h) of at most 2 KiB, whatever it quotes; so do prefix and hint. */
int error_set(struct error **err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int error_vset(struct error **err, enum error_code code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
/* The same for a failed system call: appends ": strerror(sys)"; ENOSPC and EDQUOT become ERROR_NO_SPACE,
 * ENOENT becomes ERROR_NOT_FOUND, all else ERROR_IO. */
int error_set_errno(struct error **err, int sys, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds "prefix: " before the message of an existing error. Returns -code; -ERROR_FAILED if err or *err is
 * NULL. */
int error_prefix(struct error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the hint (the way out) of an existing error; replaces an earlier one. Returns as error_prefix does: a
 * function whose caller may pass no err returns its own code instead. */
int error_hint(struct error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Moves an error into *dst (dropped if dst is NULL). src becomes NULL. Returns -code, 0 if src was NULL. */
int error_move(struct error **dst, struct error **src);
struct error *error_copy(const struct error *err);
void error_free(struct error *err);
AUTO_DEFINE(error, struct error *, error_free);

/* Tables of error.def. Unknown wire names give ERROR_FAILED. */
const char *error_code_name(enum error_code code);
enum error_code error_code_from_name(const char *name);
int error_code_exit(enum error_code code);
int error_code_http(enum error_code code);
const char *error_code_about(enum error_code code);

#endif
