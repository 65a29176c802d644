#include "wire/json.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Refuses deep nesting before anything is built: brackets outside strings are counted. */
static int check_depth(const char *data, size_t len, struct error **err)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = data[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_DEPTH_MAX)
                return error_set(err, ERROR_PROTOCOL, "JSON: nested deeper than %d", JSON_DEPTH_MAX);
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return 0;
}

json_t *json_parse(const char *data, size_t len, struct error **err)
{
    if (check_depth(data, len, err) < 0)
        return NULL;
    json_error_t problem;
    json_t *value = json_loadb(data, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (!value) {
        autofree char *text = text_safe(problem.text);
        error_set(err, ERROR_PROTOCOL, "JSON: %s at byte %d", text, problem.position);
    }
    return value;
}

char *json_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    require(text != NULL);
    return text;
}

/* The member, NULL for absent and null alike. */
static json_t *member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static int missing(const char *key, struct error **err)
{
    return error_set(err, ERROR_INVALID, "\"%s\" is missing", key);
}

int json_opt_string(const json_t *object, const char *key, size_t max, const char **ret, struct error **err)
{
    const json_t *value = member(object, key);
    if (!value)
        return 0;
    if (!json_is_string(value))
        return error_set(err, ERROR_INVALID, "\"%s\" must be a string", key);
    if (json_string_length(value) > max || memchr(json_string_value(value), 0, json_string_length(value)))
        return error_set(err, ERROR_INVALID, "\"%s\" is longer than %zu bytes or has a NUL", key, max);
    *ret = json_string_value(value);
    return 0;
}

int json_opt_number(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *ret,
                    struct error **err)
{
    const json_t *value = member(object, key);
    if (!value)
        return 0;
    if (!json_is_integer(value))
        return error_set(err, ERROR_INVALID, "\"%s\" must be a whole number", key);
    int64_t number = json_integer_value(value);
    if (number < min || number > max)
        return error_set(err, ERROR_INVALID, "\"%s\" must be from %lld to %lld", key, (long long)min,
                         (long long)max);
    *ret = number;
    return 0;
}

int json_opt_bool(const json_t *object, const char *key, bool *ret, struct error **err)
{
    const json_t *value = member(object, key);
    if (!value)
        return 0;
    if (!json_is_boolean(value))
        return error_set(err, ERROR_INVALID, "\"%s\" must be true or false", key);
    *ret = json_is_true(value);
    return 0;
}

int json_get_string(const json_t *object, const char *key, size_t max, const char **ret, struct error **err)
{
    return member(object, key) ? json_opt_string(object, key, max, ret, err) : missing(key, err);
}

int json_get_number(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *ret,
                    struct error **err)
{
    return member(object, key) ? json_opt_number(object, key, min, max, ret, err) : missing(key, err);
}

int json_get_bool(const json_t *object, const char *key, bool *ret, struct error **err)
{
    return member(object, key) ? json_opt_bool(object, key, ret, err) : missing(key, err);
}

int json_opt_strings(const json_t *object, const char *key, size_t max_count, size_t max_len, char ***ret,
                     struct error **err)
{
    json_t *list = member(object, key);
    if (!list)
        return 0;
    if (!json_is_array(list))
        return error_set(err, ERROR_INVALID, "\"%s\" must be a list of strings", key);
    size_t count = json_array_size(list);
    if (count > max_count)
        return error_set(err, ERROR_INVALID, "\"%s\" has more than %zu entries", key, max_count);
    char **out = xnewn(char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        const char *text = json_string_value(item);
        size_t len = json_string_length(item);
        if (!text || len > max_len || memchr(text, 0, len)) {
            json_free_strings(out);
            return error_set(err, ERROR_INVALID, "\"%s\": entry %zu must be a string of at most %zu bytes",
                             key, i + 1, max_len);
        }
        out[i] = xstrndup(text, len);
    }
    *ret = out;
    return 0;
}

void json_free_strings(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

json_t *json_bytes(const void *data, size_t len)
{
    /* A NUL is refused by our own parser, so it is escaped like a byte that is no UTF-8. */
    json_t *value = NULL;
    if (len == 0 || !memchr(data, 0, len))
        value = json_stringn(len ? data : "", len);
    if (!value) {
        struct text text;
        text_init(&text, data, len, 0, TEXT_KEEP_NEWLINES);
        value = json_stringn(text.bytes, text.len);
        text_finish(&text);
    }
    require(value != NULL);
    return value;
}

json_t *json_from_error(const struct error *error)
{
    json_t *inner = json_object();
    const char *message = error->message ? error->message : "";
    json_object_set_new(inner, "code", json_string(error_code_name(error->code)));
    json_object_set_new(inner, "message", json_bytes(message, strlen(message)));
    if (error->hint)
        json_object_set_new(inner, "hint", json_bytes(error->hint, strlen(error->hint)));
    json_t *outer = json_object();
    require(outer && json_object_set_new(outer, "error", inner) == 0);
    return outer;
}

int json_to_error(const json_t *object, struct error **err)
{
    const json_t *inner = json_is_object(object) ? json_object_get(object, "error") : NULL;
    if (!inner)
        return 0;
    const char *code = json_string_value(json_object_get(inner, "code"));
    const char *message = json_string_value(json_object_get(inner, "message"));
    const char *hint = json_string_value(json_object_get(inner, "hint"));
    enum error_code number = code ? error_code_from_name(code) : ERROR_FAILED;
    if (number == ERROR_NONE)
        number = ERROR_FAILED;
    int rc = error_set(err, number, "%s", message ? message : "the peer reported an error without a message");
    if (hint)
        error_hint(err, "%s", hint);
    return rc;
}

char *json_url_encode(const char *raw, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = xnewn(char, len * 3 + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)raw[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                     c == '.' || c == '_' || c == '~';
        if (plain) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        }
    }
    return out;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes one query value. */
static int decode(const char *key, const char *from, size_t len, char **ret, size_t *ret_len,
                  struct error **err)
{
    autofree char *out = xnewn(char, len + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = from[i];
        if (c == '%') {
            int high = len - i > 2 ? hex_digit(from[i + 1]) : -1;
            int low = len - i > 2 ? hex_digit(from[i + 2]) : -1;
            if (high < 0 || low < 0)
                return error_set(err, ERROR_INVALID, "\"%s\": a %% must be followed by two hex digits", key);
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == 0)
            return error_set(err, ERROR_INVALID, "\"%s\" has a NUL", key);
        out[n++] = c;
    }
    if (ret_len)
        *ret_len = n;
    *ret = steal(&out);
    return 0;
}

int json_query(const char *path, const char *key, char **ret, size_t *ret_len, struct error **err)
{
    *ret = NULL;
    if (ret_len)
        *ret_len = 0;
    size_t key_len = strlen(key);
    const char *at = strchr(path, '?');
    while (at) {
        at++;
        size_t len = strcspn(at, "&");
        if (len >= key_len && strncmp(at, key, key_len) == 0 && (len == key_len || at[key_len] == '=')) {
            size_t skip = len == key_len ? key_len : key_len + 1;
            return decode(key, at + skip, len - skip, ret, ret_len, err);
        }
        at = at[len] == '&' ? at + len : NULL;
    }
    return 0;
}
