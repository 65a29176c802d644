/* Fuzz target of hosts, authorities, ranges and rules: what is taken prints as what is taken again, the same;
 * nothing is decided differently for another way of writing. The first byte says what the rest is. */
#include "base/alloc.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_host(const char *text, size_t len, enum host_mode mode)
{
    struct host host, again;
    struct host_display display;
    char canonical[HOST_FORMAT_MAX];
    if (host_parse(text, len, mode, &host, NULL) < 0)
        return;
    require(host.len > 0 && host.len <= HOST_TEXT_MAX && strlen(host.text) == host.len);
    for (size_t i = 0; i < host.len; i++)
        require(host.text[i] > ' ' && host.text[i] < 0x7f && !(host.text[i] >= 'A' && host.text[i] <= 'Z'));
    host_format(&host, 0, canonical);
    require(host_parse(canonical, strlen(canonical), HOST_REQUEST, &again, NULL) == 0);
    require(host_equal(&host, &again) && host.label_count == again.label_count);
    host_display_init(&display, &host);
    require(display.text && (!display.registrable || strlen(display.registrable) <= host.len));
    host_display_finish(&display);
}

static void check_authority(const char *text, size_t len)
{
    static const char rules[] = "deny evil.test";
    struct request request, again;
    if (request_parse(text, len, 0, &request, NULL) < 0)
        return;
    require(request.port > 0);
    char canonical[HOST_FORMAT_MAX], missing[REQUEST_RULE_MAX];
    host_format(&request.host, request.port, canonical);
    require(request_parse(canonical, strlen(canonical), 0, &again, NULL) == 0);
    require(host_equal(&request.host, &again.host) && request.port == again.port);
    struct rule *rule = NULL;
    struct policy *policy = NULL;
    struct verdict verdict;
    require(rule_parse(rules, strlen(rules), NULL, &rule, NULL) == 0);
    require(policy_create(&(struct policy_options){.generation = 1}, &rule, 1, &policy, NULL) == 0);
    policy_decide(policy, &request, NULL, 0, &verdict);
    policy_unref(policy);
    require(verdict.effect != VERDICT_ALLOW);
    /* What is said to be missing is a rule, and it is for this request. */
    bool own = host_is_floor(&request.host) || host_is_reserved(&request.host, NULL);
    bool floor = request.host.kind != HOST_NAME &&
                 address_check(&request.host.address, NULL, 0, NULL, 0, NULL) == ADDRESS_FLOOR;
    if (own || floor)
        return;
    request_missing(&request, missing);
    require(rule_parse(missing, strlen(missing), NULL, &rule, NULL) == 0);
    require(rule_matches(rule, &request) && !strcmp(rule->text, missing));
    rule_free(rule);
}

static void check_rule(const char *text, size_t len)
{
    auto(rule) struct rule *rule = NULL;
    auto(rule) struct rule *again = NULL;
    auto(error) struct error *err = NULL;
    if (rule_parse(text, len, NULL, &rule, &err) < 0) {
        require(err && err->code == ERROR_INVALID && !strncmp(err->message, "column ", 7));
        return;
    }
    require(rule_parse(rule->text, strlen(rule->text), NULL, &again, &err) == 0);
    require(!strcmp(rule->text, again->text) && !strcmp(rule->id, again->id));
    require(rule_specificity(rule) == rule_specificity(again));
    require(rule->target == again->target && rule->proto == again->proto && rule->methods == again->methods &&
            rule->path_count == again->path_count && rule->expires == again->expires &&
            rule->up == again->up);
    free(rule_target(rule));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    struct cidr cidr, again;
    char range[CIDR_FORMAT_MAX];
    switch (data[0]) {
    case 'h':
        check_host(text, len, HOST_REQUEST);
        break;
    case 'H':
        check_host(text, len, HOST_RULE);
        break;
    case 'a':
        check_authority(text, len);
        break;
    case 'c':
        if (cidr_parse(text, len, &cidr, NULL) < 0)
            break;
        cidr_format(&cidr, range);
        require(cidr_parse(range, strlen(range), &again, NULL) == 0 && cidr_covers(&cidr, &again) &&
                cidr_covers(&again, &cidr));
        break;
    default:
        check_rule(text, len);
    }
    return 0;
}
