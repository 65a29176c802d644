/* What a rule matches, and how specific it is. */
#include "policy/rule.h"

#include "base/alloc.h"
#include "policy/request.h"
#include "policy/rule_internal.h"
#include "policy/suffix.h"

#include <string.h>

static unsigned label_count(const struct host *host)
{
    unsigned count = 1;
    for (size_t i = 0; i < host->len; i++)
        count += host->text[i] == '.';
    return count;
}

/* How many bytes of a pattern stand before its first star. */
static size_t literal_length(const char *pattern)
{
    return strcspn(pattern, "*");
}

uint64_t rule_specificity(const struct rule *rule)
{
    static const unsigned kinds[] = {
        [TARGET_NAME] = 3,       [TARGET_ADDRESS] = 3, [TARGET_ONE_LABEL] = 2,
        [TARGET_ANY_LABELS] = 1, [TARGET_CIDR] = 0,
    };
    uint64_t labels = rule->target == TARGET_CIDR ? rule->cidr.length : rule->host.label_count;
    size_t path = 0;
    for (size_t i = 0; i < rule->path_count; i++) {
        size_t len = literal_length(rule->paths[i]);
        path = len > path ? len : path;
    }
    return (uint64_t)kinds[rule->target] << 40 | labels << 32 | (uint64_t)rule->port_form << 28 |
           (uint64_t)rule->proto_given << 25 | (uint64_t)(rule->methods != 0) << 24 |
           (path > 0xffff ? 0xffff : path);
}

static bool port_matches(const struct rule *rule, uint16_t port)
{
    if (rule->port_form == PORT_EVERY)
        return true;
    if (rule->port_form == PORT_RANGE)
        return port >= rule->ports[0] && port <= rule->ports[1];
    for (size_t i = 0; i < rule->port_count; i++)
        if (rule->ports[i] == port)
            return true;
    return false;
}

/* Does a public suffix lie between the wildcard's base and the host? */
static bool reaches_over_suffix(const struct rule *rule, const struct host *host)
{
    return rule->effect != RULE_DENY && strlen(suffix_of(host->text)) > rule->host.len;
}

static bool target_matches(const struct rule *rule, const struct host *host)
{
    unsigned labels = 0;
    switch (rule->target) {
    case TARGET_NAME:
    case TARGET_ADDRESS:
        return host_equal(&rule->host, host);
    case TARGET_CIDR:
        return host->kind != HOST_NAME && cidr_contains(&rule->cidr, &host->address);
    case TARGET_ONE_LABEL:
    case TARGET_ANY_LABELS:
        if (host->kind != HOST_NAME)
            return false;
        if (!*rule->host.text)
            labels = label_count(host);
        else if (!host_below(host, rule->host.text, &labels))
            return false;
        return (labels == 1 || rule->target == TARGET_ANY_LABELS) && !reaches_over_suffix(rule, host);
    }
    return false;
}

bool rule_path_matches(const char *pattern, const char *path)
{
    const char *star = NULL, *back = NULL; /* the last star that can take more, and where it stopped */
    const char *deep = NULL, *deep_back = NULL;
    for (;;) {
        if (pattern[0] == '*' && pattern[1] == '*') {
            pattern += 2;
            deep = pattern;
            deep_back = path;
            star = NULL;
            continue;
        }
        if (*pattern == '*') {
            star = ++pattern;
            back = path;
            continue;
        }
        if (*pattern && *pattern == *path) {
            pattern++;
            path++;
            continue;
        }
        if (!*pattern && !*path)
            return true;
        if (star && *back && *back != '/') {
            pattern = star;
            path = ++back;
            continue;
        }
        if (!deep || !*deep_back)
            return false;
        star = NULL;
        pattern = deep;
        path = ++deep_back;
    }
}

/* Methods and paths against a head that was read, or was not. */
static bool head_matches(const struct rule *rule, const struct request *request)
{
    if (!rule->methods && !rule->path_count)
        return true;
    if (!request->method)
        return rule->effect != RULE_DENY;
    if (rule->methods && !(rule->methods & rule_method_bit(request->method, strlen(request->method))))
        return false;
    for (size_t i = 0; i < rule->path_count; i++)
        if (request->path && rule_path_matches(rule->paths[i], request->path))
            return true;
    return rule->path_count == 0;
}

bool rule_matches(const struct rule *rule, const struct request *request)
{
    if (rule->expires && request->now >= rule->expires)
        return false;
    if (!port_matches(rule, request->port))
        return false;
    if (rule->proto != PROTO_ANY && request->proto != PROTO_ANY && rule->proto != request->proto)
        return false;
    return target_matches(rule, &request->host) && head_matches(rule, request);
}
