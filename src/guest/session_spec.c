#include "base/alloc.h"
#include "guest/session.h"

#include <string.h>

#define ROWS_DEFAULT    24
#define COLUMNS_DEFAULT 80
#define KEY_MAX         256

static int read_copy(const json_t *body, const char *key, size_t max, char **ret, struct error **err)
{
    const char *value = NULL;
    int rc = json_opt_string(body, key, max, &value, err);
    *ret = rc ? NULL : xstrdup(value);
    return rc;
}

/* {"K":"V"} as a list of K=V. */
static int read_environment(const json_t *body, char ***ret, struct error **err)
{
    json_t *map = json_object_get(body, "env"), *value;
    const char *key;
    size_t n = 0;

    if (!map || json_is_null(map))
        return 0;
    if (!json_is_object(map))
        return error_set(err, ERROR_INVALID, "'env' must be an object of strings");
    if (json_object_size(map) > SESSION_ENV_MAX)
        return error_set(err, ERROR_LIMIT, "'env' has more than %d variables", SESSION_ENV_MAX);
    char **list = xnewn(char *, json_object_size(map) + 1);
    *ret = list;
    json_object_foreach(map, key, value)
    {
        size_t len = strlen(key);
        if (len == 0 || len > KEY_MAX || strchr(key, '='))
            return error_set(err, ERROR_INVALID, "'%.64s' cannot be a variable's name", key);
        if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value) ||
            json_string_length(value) > SESSION_STRING_MAX)
            return error_set(err, ERROR_INVALID,
                             "the variable '%.64s' must be a string without NUL of at most %d bytes", key,
                             SESSION_STRING_MAX);
        list[n++] = xasprintf("%s=%s", key, json_string_value(value));
    }
    return 0;
}

int session_spec_read(const json_t *body, struct session_spec *ret_spec, struct error **err)
{
    struct session_spec spec = {.rows = ROWS_DEFAULT, .columns = COLUMNS_DEFAULT};

    int rc = json_is_object(body)
                 ? 0
                 : error_set(err, ERROR_INVALID, "the body must be an object that says what to start");
    if (!rc)
        rc = json_opt_strings(body, "argv", SESSION_ARGV_MAX, SESSION_STRING_MAX, &spec.argv, err);
    if (!rc)
        rc = read_environment(body, &spec.env, err);
    if (!rc)
        rc = read_copy(body, "cwd", SESSION_PATH_MAX, &spec.cwd, err);
    if (!rc && spec.cwd && *spec.cwd != '/')
        rc = error_set(err, ERROR_INVALID, "the folder '%.200s' is not an absolute path", spec.cwd);
    if (!rc)
        rc = read_copy(body, "user", USER_NAME_MAX, &spec.user, err);
    if (!rc)
        rc = read_copy(body, "term", SESSION_TERM_MAX, &spec.term, err);
    if (!rc)
        rc = read_copy(body, "label", SESSION_LABEL_MAX, &spec.label, err);
    if (!rc)
        rc = json_opt_bool(body, "pty", &spec.pty, err);
    if (!rc)
        rc = json_opt_number(body, "rows", 1, SESSION_SIDE_MAX, &spec.rows, err);
    if (!rc)
        rc = json_opt_number(body, "columns", 1, SESSION_SIDE_MAX, &spec.columns, err);
    if (!rc)
        rc = json_opt_number(body, "timeout_ms", 0, SESSION_TIMEOUT_MAX, &spec.timeout_ms, err);
    if (rc) {
        session_spec_finish(&spec);
        return rc;
    }
    *ret_spec = spec;
    return 0;
}

void session_spec_finish(struct session_spec *spec)
{
    json_free_strings(spec->argv);
    json_free_strings(spec->env);
    free(spec->cwd);
    free(spec->user);
    free(spec->term);
    free(spec->label);
}
