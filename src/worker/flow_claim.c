#include "worker/flow_claim.h"

#include "base/alloc.h"
#include "worker/decode.h"

#include <string.h>

#define ARGC_MAX 10000

static const char *const entrance_words[FLOW_ENTRANCE_COUNT] = {
#define X(name, word) word,
    FLOW_ENTRANCES(X)
#undef X
};

bool flow_entrance_read(const char *word, enum flow_entrance *ret_entrance)
{
    for (int i = 0; i < FLOW_ENTRANCE_COUNT; i++) {
        if (!strcmp(word, entrance_words[i])) {
            *ret_entrance = (enum flow_entrance)i;
            return true;
        }
    }
    return false;
}

/* Words as they fit, each with its NUL, and one NUL more. */
static bool read_argv(const json_t *list, struct flow_claim *claim)
{
    size_t at = 0, count = json_array_size(list);

    if (!json_is_array(list) || count > ARGC_MAX)
        return false;
    claim->argc = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const json_t *word = json_array_get(list, i);
        size_t len = json_string_length(word);
        if (!json_is_string(word) || strlen(json_string_value(word)) != len)
            return false;
        if (at + len + 2 > sizeof(claim->argv)) {
            claim->cut = 1;
            break;
        }
        memcpy(claim->argv + at, json_string_value(word), len);
        at += len + 1;
    }
    return true;
}

static bool read_text(const json_t *object, const char *key, char *to, size_t size)
{
    const char *text = NULL;

    if (json_opt_string(object, key, FLOW_BODY_MAX, &text, NULL) < 0)
        return false;
    if (text)
        decode_text(to, size, text);
    return true;
}

static bool read_object(const json_t *object, struct flow_claim *claim)
{
    int64_t pid = 0, uid = 0;
    bool cut = false;
    const json_t *argv = json_object_get(object, "argv");

    claim->known = json_object_size(object) > 0;
    if (json_opt_number(object, "pid", 0, INT32_MAX, &pid, NULL) < 0 ||
        json_opt_number(object, "uid", 0, UINT32_MAX, &uid, NULL) < 0 ||
        json_opt_bool(object, "cut", &cut, NULL) < 0)
        return false;
    claim->pid = (uint32_t)pid;
    claim->uid = (uint32_t)uid;
    if (argv && !read_argv(argv, claim))
        return false;
    claim->cut |= cut;
    return read_text(object, "exe", claim->exe, sizeof(claim->exe)) &&
           read_text(object, "cwd", claim->cwd, sizeof(claim->cwd)) &&
           read_text(object, "session", claim->session, sizeof(claim->session)) &&
           read_text(object, "says", claim->says, sizeof(claim->says));
}

bool flow_claim_read(const char *json, size_t len, struct flow_claim *ret_claim)
{
    auto(json) json_t *object = json_parse(json, len, NULL);
    struct flow_claim claim = {0};

    if (!json_is_object(object) || !read_object(object, &claim))
        return false;
    *ret_claim = claim;
    return true;
}
