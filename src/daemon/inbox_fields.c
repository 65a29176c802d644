#include "daemon/inbox_fields.h"

#include "base/alloc.h"
#include "base/text.h"
#include "policy/host.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define KEY_PATH_MAX 300
#define DIGEST_HEX   65

const char *inbox_verb(const struct flow *flow)
{
    static const char *const verbs[] = {[FLOW_ASK_NOTHING] = "CONNECT",
                                        [FLOW_ASK_OPEN] = "CONNECT",
                                        [FLOW_ASK_PRIVATE] = "PRIVATE",
                                        [FLOW_ASK_REQUEST] = "REQUEST",
                                        [FLOW_ASK_MORE] = "UPLOAD"};
    return verbs[flow->asked];
}

/* A path that is too long to stand in the key. */
static void path_digest(const char *path, char ret[DIGEST_HEX])
{
    unsigned char sum[32];

    require(EVP_Digest(path, strlen(path), sum, NULL, EVP_sha256(), NULL) == 1);
    for (size_t i = 0; i < sizeof(sum); i++)
        snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}

void inbox_key(const struct flow *flow, char ret[INBOX_KEY_MAX])
{
    char host[HOST_FORMAT_MAX];

    host_format(&flow->request.host, flow->request.port, host);
    if (flow->asked == FLOW_ASK_REQUEST) {
        char digest[DIGEST_HEX];

        path_digest(flow->path, digest);
        snprintf(ret, INBOX_KEY_MAX, "%s/%s %s %s", host, proto_name(flow->verdict.proto), flow->method,
                 strlen(flow->path) > KEY_PATH_MAX ? digest : flow->path);
    } else if (flow->asked == FLOW_ASK_PRIVATE) /* the missing rule has the address */
        snprintf(ret, INBOX_KEY_MAX, "%s/%s %s", host, proto_name(flow->verdict.proto),
                 flow->verdict.missing);
    else
        snprintf(ret, INBOX_KEY_MAX, "%s/%s", host, proto_name(flow->verdict.proto));
}

static bool is_web(const struct flow *flow)
{
    return flow->verdict.proto != PROTO_TCP && (flow->request.port == 443 || flow->request.port == 80);
}

enum approval_tier inbox_tier(const struct flow *flow)
{
    struct host_display display;

    if (flow->asked == FLOW_ASK_PRIVATE)
        return APPROVAL_CRITICAL;
    if (flow->asked == FLOW_ASK_MORE || flow->verdict.uploads || !is_web(flow))
        return APPROVAL_UNUSUAL;
    host_display_init(&display, &flow->request.host);
    bool odd = display.warning != HOST_PLAIN;
    host_display_finish(&display);
    return odd ? APPROVAL_UNUSUAL : APPROVAL_ROUTINE;
}

unsigned inbox_scopes(const struct flow *flow)
{
    static const enum approval_scope of[SCOPE_COUNT] = {
        [SCOPE_ONCE] = APPROVAL_ONCE,       [SCOPE_NEXT] = APPROVAL_ONCE,
        [SCOPE_SESSION] = APPROVAL_SESSION, [SCOPE_PROJECT] = APPROVAL_PROJECT,
        [SCOPE_ALL] = APPROVAL_ALL,         [SCOPE_DURATION] = APPROVAL_DURATION};
    unsigned scopes = 0, offered;

    if (flow->asked == FLOW_ASK_MORE || flow->asked == FLOW_ASK_REQUEST || flow->asked == FLOW_ASK_PRIVATE)
        return 1u << APPROVAL_ONCE;
    offered = policy_scopes(&flow->request, &flow->verdict, false, NULL);
    for (int i = 0; i < SCOPE_COUNT; i++)
        if (offered & (1u << i))
            scopes |= 1u << of[i];
    if (inbox_tier(flow) != APPROVAL_ROUTINE) /* what looks odd becomes no rule by a key */
        scopes &= ~(1u << APPROVAL_PROJECT | 1u << APPROVAL_ALL);
    return scopes;
}

/* Text of the guest: safe and cut at a stated length. */
static void set_claimed(json_t *object, const char *key, const char *text)
{
    struct text safe;

    if (!text || !*text)
        return;
    text_init(&safe, text, strlen(text), 0, TEXT_DEFAULT);
    json_object_set_new(object, key, json_string(safe.bytes));
    if (safe.suspicious)
        json_object_set_new(object, "suspicious", json_true());
    text_finish(&safe);
}

static json_t *claim(const struct flow *flow)
{
    const struct flow_claim *c = &flow->claim;
    json_t *object = json_object(), *argv = json_array();
    size_t at = 0;

    while (at < sizeof(c->argv) && c->argv[at]) {
        size_t len = strnlen(c->argv + at, sizeof(c->argv) - at);
        struct text safe;
        text_init(&safe, c->argv + at, len, 0, TEXT_DEFAULT);
        json_array_append_new(argv, json_string(safe.bytes));
        if (safe.suspicious)
            json_object_set_new(object, "suspicious", json_true());
        text_finish(&safe);
        at += len + 1;
    }
    json_object_set_new(object, "known", json_boolean(c->known));
    json_object_set_new(object, "argv", argv);
    json_object_set_new(object, "argc", json_integer(c->argc));
    json_object_set_new(object, "cut", json_boolean(c->cut));
    json_object_set_new(object, "pid", json_integer(c->pid));
    json_object_set_new(object, "uid", json_integer(c->uid));
    set_claimed(object, "exe", c->exe);
    set_claimed(object, "cwd", c->cwd);
    set_claimed(object, "session", c->session);
    return object;
}

/* "Never" is said only by who has looked. */
static void set_seen(json_t *object, const struct inbox_history *history)
{
    const struct {
        const char *key;
        int64_t ns;
    } times[] = {{"seen_ns", history->first_ns},
                 {"last_ns", history->last_ns},
                 {"elsewhere_ns", history->elsewhere_ns}};

    for (size_t i = 0; history->known && i < countof(times); i++)
        json_object_set_new(object, times[i].key, times[i].ns ? json_integer(times[i].ns) : json_null());
}

static json_t *site(const struct flow *flow, const struct inbox_history *history)
{
    struct host_display display;
    const char *words;

    host_display_init(&display, &flow->request.host);
    json_t *object = json_pack("{s:s, s:b}", "host", display.text, "uploads", flow->verdict.uploads);

    set_seen(object, history);
    if (display.decoded)
        json_object_set_new(object, "decoded", json_string(display.decoded));
    if (display.registrable)
        json_object_set_new(object, "registrable", json_string(display.registrable));
    if ((words = host_warning_words(display.warning)))
        json_object_set_new(object, "warning", json_string(words));
    host_display_finish(&display);
    return object;
}

static void set_cap(json_t *object, const char *key, uint64_t bytes)
{
    json_object_set_new(object, key, bytes == UINT64_MAX ? json_null() : json_integer((json_int_t)bytes));
}

json_t *inbox_fields(const struct flow *flow, const struct inbox_history *history)
{
    const struct verdict *verdict = &flow->verdict;
    char authority[HOST_FORMAT_MAX];
    json_t *fields = json_pack("{s:s, s:s, s:i, s:s, s:s, s:s}", "authority",
                               host_format(&flow->request.host, flow->request.port, authority), "host",
                               flow->request.host.text, "port", (int)flow->request.port, "proto",
                               proto_name(verdict->proto), "reason", reason_name(verdict->reason), "asks",
                               reason_sentence(verdict->reason));

    if (verdict->rule)
        json_object_set_new(fields, "rule", json_string(verdict->rule->text));
    if (verdict->missing[0])
        json_object_set_new(fields, "rule_missing", json_string(verdict->missing));
    if (flow->asked == FLOW_ASK_REQUEST) {
        json_object_set_new(fields, "method", json_string(flow->method));
        json_object_set_new(fields, "path", json_string(flow->path));
    }
    if (flow->asked == FLOW_ASK_PRIVATE)
        json_object_set_new(fields, "class", json_string(address_class_name(verdict->class)));
    set_cap(fields, "cap_hour", verdict->caps.hour);
    json_object_set_new(fields, "sent", json_integer((json_int_t)flow->up));
    json_object_set_new(fields, "site", site(flow, history));
    json_object_set_new(fields, "claim", claim(flow));
    set_claimed(fields, "says", flow->claim.says);
    return fields;
}

const char *inbox_site(const json_t *fields)
{
    return json_string_value(json_object_get(json_object_get(fields, "site"), "registrable"));
}
