/* path.h: the one form of a request's path, in which rules are matched and in which it is forwarded. */
#ifndef HUTCH_GUARD_PATH_H
#define HUTCH_GUARD_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the canonical path of an origin-form target ("/a/b?query") into out, which has room for len + 1
 * bytes, and ends it with a NUL: unreserved characters decoded, hex digits in upper case, runs of slashes
 * made one, then "." and ".." resolved (never above the root). The query, which is not changed, begins at
 * *ret_query of the target (its "?"; len if there is none). The two may not overlap. Returns the
 * length of the path, at least 1. False if there is no such form: not beginning with "/", an encoded slash,
 * backslash or NUL, a plain backslash, a fragment, bytes that are not printable ASCII (also in the query), a
 * broken %-code, a dot segment with parameters ("..;x"). */
bool path_canonical(const char *target, size_t len, char *out, size_t *ret_len, size_t *ret_query);

#endif
