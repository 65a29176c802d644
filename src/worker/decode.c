#include "worker/decode.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#define TEXT_IN_MAX 65536 /* longest text that is looked at before it is cut to its field */
#define UINT32_TOP  4294967295LL

void decode_text(char *to, size_t size, const char *from)
{
    size_t len = strnlen(from, size);

    if (len == size) {
        len = size - 1;
        while (len && ((unsigned char)from[len] & 0xC0) == 0x80)
            len--;
    }
    memset(to, 0, size);
    memcpy(to, from, len);
}

bool decode_number(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *ret = value;
    return true;
}

/* An optional text for people. */
static int take_text(const json_t *object, const char *key, char *to, size_t size, struct error **err)
{
    const char *text = "";
    int rc = json_opt_string(object, key, TEXT_IN_MAX, &text, err);

    if (rc == 0)
        decode_text(to, size, text);
    return rc;
}

/* A text that means something: whole, at least min bytes, of letters, digits and the given further
 * characters. */
static int take_word(const json_t *object, const char *key, const char *further, size_t min, char *to,
                     size_t size, struct error **err)
{
    const char *text = "";
    int rc = json_opt_string(object, key, size - 1, &text, err);

    if (rc < 0)
        return rc;
    size_t len = strlen(text);
    if (len < min)
        return error_set(err, ERROR_PROTOCOL, "'%s' is missing", key);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && !strchr(further, c))
            return error_set(err, ERROR_PROTOCOL, "'%s' has a character that does not belong there", key);
    }
    decode_text(to, size, text);
    return 0;
}

/* An optional number into fields of several widths. */
static int take_i64(const json_t *object, const char *key, int64_t min, int64_t *ret, struct error **err)
{
    return json_opt_number(object, key, min, INT64_MAX, ret, err);
}

static int take_u64(const json_t *object, const char *key, uint64_t *ret, struct error **err)
{
    int64_t value = 0;
    int rc = json_opt_number(object, key, 0, INT64_MAX, &value, err);
    *ret = (uint64_t)value;
    return rc;
}

static int take_u32(const json_t *object, const char *key, int64_t max, uint32_t *ret, struct error **err)
{
    int64_t value = 0;
    int rc = json_opt_number(object, key, 0, max, &value, err);
    *ret = (uint32_t)value;
    return rc;
}

static int take_flag(const json_t *object, const char *key, uint32_t *ret, struct error **err)
{
    bool value = false;
    int rc = json_opt_bool(object, key, &value, err);
    *ret = value;
    return rc;
}

/* One of a list of words; its place in the list is the value. */
static int take_choice(const json_t *object, const char *key, const char *const *words, size_t count,
                       uint32_t *ret, struct error **err)
{
    const char *text = NULL;
    int rc = json_get_string(object, key, 32, &text, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (words[i] && strcmp(words[i], text) == 0) {
            *ret = (uint32_t)i;
            return 0;
        }
    }
    return error_set(err, ERROR_PROTOCOL, "'%s' has an unknown value", key);
}

#define TRY(expression)                                                                                      \
    do {                                                                                                     \
        int rc_ = (expression);                                                                              \
        if (rc_ < 0)                                                                                         \
            return rc_;                                                                                      \
    } while (0)

static int decode_health(const json_t *o, struct guest_health *ret, struct error **err)
{
    static const char *const phases[] = {[PHASE_AGENT] = "agent",
                                         [PHASE_SYSTEM] = "system",
                                         [PHASE_READY] = "ready",
                                         [PHASE_FAILED] = "failed"};

    static const char *const captures[] = {
        [CAPTURE_ON] = "on", [CAPTURE_PENDING] = "pending", [CAPTURE_OFF] = "off"};

    TRY(take_u32(o, "version", UINT32_TOP, &ret->version, err));
    TRY(take_choice(o, "phase", phases, countof(phases), &ret->phase, err));
    TRY(take_word(o, "boot_id", "-", 0, ret->boot_id, sizeof(ret->boot_id), err));
    TRY(take_text(o, "hostname", ret->hostname, sizeof(ret->hostname), err));
    TRY(take_text(o, "kernel", ret->kernel, sizeof(ret->kernel), err));
    TRY(take_text(o, "os", ret->os, sizeof(ret->os), err));
    TRY(take_i64(o, "time_ns", 0, &ret->time_ns, err));
    TRY(take_i64(o, "uptime_ms", 0, &ret->uptime_ms, err));
    TRY(take_u64(o, "memory_total", &ret->memory_total, err));
    TRY(take_u64(o, "memory_available", &ret->memory_available, err));
    TRY(take_u64(o, "disk_size", &ret->disk_size, err));
    TRY(take_u64(o, "disk_free", &ret->disk_free, err));
    TRY(take_text(o, "failed_units", ret->failed_units, sizeof(ret->failed_units), err));
    TRY(take_text(o, "proxy", ret->proxy, sizeof(ret->proxy), err));
    if (json_object_get(o, "capture"))
        TRY(take_choice(o, "capture", captures, countof(captures), &ret->capture, err));
    return take_text(o, "capture_reason", ret->capture_reason, sizeof(ret->capture_reason), err);
}

static int decode_session(const json_t *o, struct guest_session *ret, struct error **err)
{
    static const char *const states[] = {[SESSION_STARTING] = "starting",
                                         [SESSION_RUNNING] = "running",
                                         [SESSION_EXITED] = "exited",
                                         [SESSION_LOST] = "lost"};
    int64_t status = 0;

    TRY(take_word(o, "id", "-_", 1, ret->id, sizeof(ret->id), err));
    TRY(take_choice(o, "state", states, countof(states), &ret->state, err));
    TRY(take_flag(o, "pty", &ret->pty, err));
    TRY(take_u32(o, "pid", INT32_MAX, &ret->pid, err));
    TRY(take_u32(o, "attached", INT32_MAX, &ret->attached, err));
    TRY(json_opt_number(o, "exit_status", 0, 255, &status, err));
    ret->exit_status = (int32_t)status;
    TRY(take_u32(o, "signal", 128, &ret->signal, err));
    TRY(take_flag(o, "timed_out", &ret->timed_out, err));
    TRY(take_i64(o, "started_ns", 0, &ret->started_ns, err));
    TRY(take_i64(o, "ended_ns", 0, &ret->ended_ns, err));
    TRY(take_u64(o, "user_us", &ret->user_us, err));
    TRY(take_u64(o, "system_us", &ret->system_us, err));
    TRY(take_u64(o, "max_rss", &ret->max_rss, err));
    TRY(take_u64(o, "out_total", &ret->out_total, err));
    TRY(take_u64(o, "err_total", &ret->err_total, err));
    TRY(take_u64(o, "out_start", &ret->out_start, err));
    TRY(take_u64(o, "err_start", &ret->err_start, err));
    TRY(take_text(o, "command", ret->command, sizeof(ret->command), err));
    TRY(take_text(o, "cwd", ret->cwd, sizeof(ret->cwd), err));
    TRY(take_text(o, "user", ret->user, sizeof(ret->user), err));
    return take_text(o, "label", ret->label, sizeof(ret->label), err);
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Standard base64 with padding into at most size bytes; returns the length or -1. */
static int base64_decode(const char *text, char *to, size_t size)
{
    size_t len = strlen(text), out = 0;
    uint32_t bits = 0;
    unsigned have = 0;

    if (len % 4)
        return -1;
    for (int i = 0; i < 2 && len && text[len - 1] == '='; i++)
        len--;
    for (size_t i = 0; i < len; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (out == size)
            return -1;
        to[out++] = (char)(bits >> have);
        bits &= (1u << have) - 1;
    }
    return bits ? -1 : (int)out;
}

/* The raw bytes of one path element: in a list never empty, ".", ".." or with a slash in it. */
static int decode_name(const json_t *o, bool list, struct guest_file *ret, struct error **err)
{
    const char *raw = NULL, *base64 = NULL;
    char name[sizeof(ret->name)];
    int len;

    TRY(json_opt_string(o, "name", TEXT_IN_MAX, &raw, err));
    TRY(json_opt_string(o, "name_b64", TEXT_IN_MAX, &base64, err));
    if (base64) {
        len = base64_decode(base64, name, sizeof(name) - 1);
        if (len < 0 || memchr(name, '\0', (size_t)len))
            return error_set(err, ERROR_PROTOCOL, "'name_b64' is not the base64 of a file name");
    } else {
        if (!raw || strlen(raw) > sizeof(name) - 1)
            return error_set(err, ERROR_PROTOCOL, "'name' is missing or longer than a file name can be");
        len = (int)strlen(raw);
        memcpy(name, raw, (size_t)len);
    }
    bool element = len > 0 && !memchr(name, '/', (size_t)len) && !(len == 1 && name[0] == '.') &&
                   !(len == 2 && name[0] == '.' && name[1] == '.');
    /* what was asked for by "/" or by "FOLDER/." has no better name */
    bool itself = !list && len == 1 && (name[0] == '/' || name[0] == '.');
    if (!element && !itself)
        return error_set(err, ERROR_PROTOCOL, "'name' is not the name of a file in a folder");
    memcpy(ret->name, name, (size_t)len);
    ret->name_len = (uint32_t)len;
    return 0;
}

static int decode_file(const json_t *o, bool list, struct guest_file *ret, struct error **err)
{
    static const char *const types[] = {
        [FILE_REGULAR] = "regular", [FILE_FOLDER] = "folder", [FILE_LINK] = "link", [FILE_OTHER] = "other"};

    TRY(decode_name(o, list, ret, err));
    TRY(take_choice(o, "type", types, countof(types), &ret->type, err));
    TRY(take_u32(o, "mode", 0177777, &ret->mode, err));
    TRY(take_u32(o, "uid", UINT32_TOP, &ret->uid, err));
    TRY(take_u32(o, "gid", UINT32_TOP, &ret->gid, err));
    TRY(take_u64(o, "size", &ret->size, err));
    TRY(take_i64(o, "mtime_ns", INT64_MIN, &ret->mtime_ns, err));
    TRY(take_text(o, "target", ret->target, sizeof(ret->target), err));
    ret->target_len = (uint32_t)strlen(ret->target);
    return 0;
}

static int decode_repo(const json_t *o, struct guest_repo *ret, struct error **err)
{
    TRY(take_word(o, "head", "./_-+@", 0, ret->head, sizeof(ret->head), err));
    TRY(take_word(o, "commit", "", 0, ret->commit, sizeof(ret->commit), err));
    TRY(take_text(o, "path", ret->path, sizeof(ret->path), err));
    return take_flag(o, "empty", &ret->empty, err);
}

/* A name in lower case: not where it begins with '.' or '-'. */
static int decode_package_host(const json_t *o, struct guest_package_host *ret, struct error **err)
{
    static const char *const schemes[] = {"http", "https"};
    int64_t port = 0;

    TRY(take_word(o, "preset", "-", 1, ret->preset, sizeof(ret->preset), err));
    TRY(take_choice(o, "scheme", schemes, countof(schemes), &ret->tls, err));
    TRY(take_word(o, "host", ".-_", 1, ret->host, sizeof(ret->host), err));
    TRY(json_opt_number(o, "port", 1, UINT16_MAX, &port, err));
    ret->port = (uint32_t)port;
    for (const char *at = ret->host; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            return error_set(err, ERROR_PROTOCOL, "'host' has a letter of upper case");
    if (ret->host[0] == '.' || ret->host[0] == '-' || !ret->port)
        return error_set(err, ERROR_PROTOCOL, "'host' and 'port' are no place of packages");
    return 0;
}

int decode_result(enum guest_result_kind kind, bool list, const json_t *value, struct wmsg_item *item,
                  struct error **err)
{
    struct wmsg_item decoded = {0};
    int rc = 0;

    if (!json_is_object(value))
        return error_set(err, ERROR_PROTOCOL, "the answer is not a JSON object");
    switch (kind) {
    case GUEST_HEALTH:
        rc = decode_health(value, &decoded.u.health, err);
        break;
    case GUEST_SESSION:
        rc = decode_session(value, &decoded.u.session, err);
        break;
    case GUEST_FILE:
        rc = decode_file(value, list, &decoded.u.file, err);
        break;
    case GUEST_REPO:
        rc = decode_repo(value, &decoded.u.repo, err);
        break;
    case GUEST_PACKAGE_HOST:
        rc = decode_package_host(value, &decoded.u.package_host, err);
        break;
    default:
        break;
    }
    if (rc < 0) {
        if (err && *err)
            (*err)->code = ERROR_PROTOCOL;
        return -ERROR_PROTOCOL;
    }
    item->kind = kind;
    item->u = decoded.u;
    return 0;
}

void decode_refusal(const char *data, size_t len, int status, struct wmsg_item *item)
{
    auto(json) json_t *body = json_parse(data, len, NULL);
    const json_t *error = json_object_get(body, "error");
    const char *code = NULL, *message = NULL, *hint = "";
    char number[48];

    if (json_is_object(error)) {
        json_opt_string(error, "code", sizeof(item->error_code) - 1, &code, NULL);
        json_opt_string(error, "message", TEXT_IN_MAX, &message, NULL);
        json_opt_string(error, "hint", TEXT_IN_MAX, &hint, NULL);
    }
    if (!code)
        code = "guest";
    if (!message) {
        snprintf(number, sizeof(number), "the guest answered with status %d", status);
        message = number;
    }
    decode_text(item->error_code, sizeof(item->error_code), code);
    decode_text(item->error_text, sizeof(item->error_text), message);
    decode_text(item->error_hint, sizeof(item->error_hint), hint);
}
