#include "guest/query.h"

#include "base/alloc.h"

#include <string.h>

bool query_matches(const char *pattern, const char *target)
{
    while (*pattern) {
        if (*pattern == '*') {
            size_t n = strcspn(target, "/?");
            if (n == 0)
                return false;
            target += n;
            pattern++;
        } else if (*pattern++ != *target++) {
            return false;
        }
    }
    return *target == '\0' || *target == '?';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes len bytes into a fresh string. */
static int decode(const char *s, size_t len, char **ret, struct error **err)
{
    autofree char *out = xcalloc(len + 1, 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (s[i] != '%') {
            out[n++] = s[i];
            continue;
        }
        int high = len - i > 2 ? hex_value(s[i + 1]) : -1, low = high >= 0 ? hex_value(s[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0))
            return error_set(err, ERROR_USAGE, "'%.*s' is not percent-encoded as it must be",
                             len < 200 ? (int)len : 200, s);
        out[n++] = (char)(high * 16 + low);
        i += 2;
    }
    *ret = steal(&out);
    return 0;
}

static int parse_arguments(const char *pattern, const char *target, struct query *query, struct error **err)
{
    size_t count = 0;

    for (; *pattern; pattern++) {
        if (*pattern != '*') {
            target++;
            continue;
        }
        size_t n = strcspn(target, "/?");
        require(count < QUERY_ARGUMENTS_MAX);
        int rc = decode(target, n, &query->argument[count++], err);
        if (rc)
            return rc;
        target += n;
    }
    return 0;
}

static int parse_parameter(const char *s, size_t len, struct query *query, struct error **err)
{
    size_t key_len = strcspn(s, "=&");

    if (query->parameter_count == QUERY_PARAMETERS_MAX)
        return error_set(err, ERROR_USAGE, "more than %d parameters", QUERY_PARAMETERS_MAX);
    size_t value_at = key_len < len ? key_len + 1 : len;
    if (key_len > len)
        key_len = len;
    char **key = &query->parameter[query->parameter_count].key,
         **value = &query->parameter[query->parameter_count].value;
    query->parameter_count++;
    int rc = decode(s, key_len, key, err);
    if (!rc)
        rc = decode(s + value_at, len - value_at, value, err);
    for (size_t i = 0; !rc && i + 1 < query->parameter_count; i++)
        if (!strcmp(query->parameter[i].key, *key))
            rc = error_set(err, ERROR_USAGE, "the parameter '%.64s' stands there twice", *key);
    return rc;
}

int query_parse(const char *pattern, const char *target, struct query *query, struct error **err)
{
    memset(query, 0, sizeof(*query));
    int rc = parse_arguments(pattern, target, query, err);
    const char *p = strchr(target, '?');
    for (p = p ? p + 1 : ""; !rc && *p;) {
        size_t len = strcspn(p, "&");
        if (len)
            rc = parse_parameter(p, len, query, err);
        p += len + (p[len] == '&');
    }
    return rc;
}

void query_finish(struct query *query)
{
    for (size_t i = 0; i < QUERY_ARGUMENTS_MAX; i++)
        free(query->argument[i]);
    for (size_t i = 0; i < query->parameter_count; i++) {
        free(query->parameter[i].key);
        free(query->parameter[i].value);
    }
    memset(query, 0, sizeof(*query));
}

const char *query_get(const struct query *query, const char *key)
{
    for (size_t i = 0; i < query->parameter_count; i++)
        if (!strcmp(query->parameter[i].key, key))
            return query->parameter[i].value;
    return NULL;
}

int query_path(const struct query *query, const char **ret_path, struct error **err)
{
    const char *path = query_get(query, "path");

    if (!path)
        return error_set(err, ERROR_USAGE, "the parameter 'path' is missing");
    if (*path != '/' || strlen(path) > QUERY_PATH_MAX)
        return error_set(err, ERROR_INVALID, "'%.200s' is not an absolute path of at most %d bytes", path,
                         QUERY_PATH_MAX);
    *ret_path = path;
    return 0;
}

int query_mode(const struct query *query, mode_t *ret_mode, struct error **err)
{
    const char *s = query_get(query, "mode");
    mode_t mode = 0;

    if (!s)
        return 0;
    for (const char *p = s; *p; p++) {
        if (*p < '0' || *p > '7' || p - s > 5)
            return error_set(err, ERROR_INVALID, "the mode '%.32s' is not octal, such as 0644", s);
        mode = mode * 8 + (mode_t)(*p - '0');
    }
    if (!*s || mode > 07777)
        return error_set(err, ERROR_INVALID, "the mode '%.32s' is not one of 0 to 07777", s);
    *ret_mode = mode;
    return 0;
}
