/* What a refused program is told: fixed fields, no more of the policy than the rule that is missing. */
#include "base/alloc.h"
#include "base/text.h"
#include "egress/flow.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 1000 /* typed with a denial */

static void set_text(json_t *object, const char *key, const char *value)
{
    if (value && *value)
        json_object_set_new(object, key, json_string(value));
}

/* The sentence for the agent, with the number in it. */
static void set_next(json_t *object, const struct verdict *verdict, uint64_t request_id)
{
    const char *next = reason_next(verdict->reason), *id = strstr(next, "ID");
    autofree char *text =
        id ? xasprintf("%.*s%llu%s", (int)(id - next), next, (unsigned long long)request_id, id + 2)
           : xstrdup(next);

    if (!id || request_id)
        set_text(object, "next", text);
}

static void set_target(json_t *object, const struct request *request)
{
    char host[HOST_FORMAT_MAX];

    set_text(object, "host", host_format(&request->host, 0, host));
    json_object_set_new(object, "port", json_integer(request->port));
}

void refusal_body(const struct request *request, const struct verdict *verdict, const char *words,
                  uint64_t request_id, char ret[FLOW_BODY_MAX])
{
    json_t *object = json_object();
    struct text safe = {0};

    json_object_set_new(object, "verdict", json_string("deny"));
    set_text(object, "reason", reason_name(verdict->reason));
    set_text(object, "layer", rule_layer_name(verdict->layer));
    if (request)
        set_target(object, request);
    if (verdict->reason == REASON_FLOOR || verdict->reason == REASON_PRIVATE)
        set_text(object, "class", address_class_name(verdict->class));
    /* The rule for a private address has the address in it, which is for the user to see and not for the
     * guest. */
    if (verdict->reason != REASON_PRIVATE)
        set_text(object, "rule_missing", verdict->missing);
    if (words) {
        text_init(&safe, words, strlen(words), WORDS_MAX, TEXT_DEFAULT);
        set_text(object, "words", safe.bytes);
        text_finish(&safe);
    }
    if (request_id) {
        autofree char *wait = xasprintf("hutch-guest wait %llu", (unsigned long long)request_id);

        json_object_set_new(object, "request", json_integer((json_int_t)request_id));
        if (verdict->reason == REASON_WAITING) {
            set_text(object, "state", "waiting");
            set_text(object, "wait", wait);
        }
    }
    set_next(object, verdict, request_id);
    autofree char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(object);
    if (!text || strlen(text) >= FLOW_BODY_MAX)
        snprintf(ret, FLOW_BODY_MAX, "{\"verdict\":\"deny\",\"reason\":\"%s\"}",
                 reason_name(verdict->reason));
    else
        snprintf(ret, FLOW_BODY_MAX, "%s", text);
}
