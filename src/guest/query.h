/* query.h: the path and the query of a request: percent-encoded bytes, checked. */
#ifndef HUTCH_GUEST_QUERY_H
#define HUTCH_GUEST_QUERY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define QUERY_PARAMETERS_MAX 8
#define QUERY_ARGUMENTS_MAX  2
#define QUERY_PATH_MAX       4095

struct query {
    char *argument[QUERY_ARGUMENTS_MAX]; /* what stood for the * of the pattern, decoded */
    struct {
        char *key, *value; /* decoded */
    } parameter[QUERY_PARAMETERS_MAX];
    size_t parameter_count;
};

/* True if the path part of target (up to '?') matches a pattern such as "/v1/tcp/" and a star, which stands
 * for one element. */
bool query_matches(const char *pattern, const char *target);
/* Decodes a target that matches. ERROR_USAGE for a bad escape, a NUL, too many parameters or one twice.
 * Finish in any case. */
int query_parse(const char *pattern, const char *target, struct query *query, struct error **err);
void query_finish(struct query *query);
/* Value or NULL. */
const char *query_get(const struct query *query, const char *key);
/* The parameter "path": absolute, at most QUERY_PATH_MAX bytes. */
int query_path(const struct query *query, const char **ret_path, struct error **err);
/* The parameter "mode", octal, 0 to 07777; *ret_mode untouched when absent. */
int query_mode(const struct query *query, mode_t *ret_mode, struct error **err);

#endif
