#include "policy/rule.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "policy/rule_internal.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char *const methods[] = {
#define X(name) #name,
    RULE_METHODS
#undef X
};

const char *rule_effect_name(enum rule_effect effect)
{
    static const char *const names[] = {"allow", "ask", "deny"};
    return names[effect];
}

const char *rule_layer_name(enum rule_layer layer)
{
    static const char *const names[] = {"built-in", "preset", "user", "project", "session"};
    return names[layer];
}

const char *proto_name(enum proto proto)
{
    static const char *const names[] = {"any", "tls", "http", "tcp"};
    return names[proto];
}

enum proto proto_of_port(uint16_t port)
{
    return port == 443 ? PROTO_TLS : port == 80 ? PROTO_HTTP : PROTO_TCP;
}

unsigned rule_method_bit(const char *method, size_t len)
{
    for (size_t i = 0; i < countof(methods); i++)
        if (strlen(methods[i]) == len && !memcmp(methods[i], method, len))
            return 1U << i;
    return 0;
}

void rule_free(struct rule *rule)
{
    if (!rule)
        return;
    for (size_t i = 0; i < rule->path_count; i++)
        free(rule->paths[i]);
    free(rule->note);
    free(rule->display);
    free(rule->source);
    free(rule->text);
    free(rule);
}

static void print_target(const struct rule *rule, struct buf *out)
{
    char text[HOST_FORMAT_MAX];
    switch (rule->target) {
    case TARGET_CIDR:
        buf_printf(out, NULL, "%s", cidr_format(&rule->cidr, text));
        break;
    case TARGET_ONE_LABEL:
    case TARGET_ANY_LABELS:
        buf_printf(out, NULL, "%s%s%s", rule->target == TARGET_ONE_LABEL ? "*" : "**",
                   *rule->host.text ? "." : "", rule->host.text);
        break;
    default:
        buf_printf(out, NULL, "%s", host_format(&rule->host, 0, text));
    }
    switch (rule->port_form) {
    case PORT_EVERY:
        break;
    case PORT_RANGE:
        buf_printf(out, NULL, ":%u-%u", rule->ports[0], rule->ports[1]);
        break;
    case PORT_SET:
        for (size_t i = 0; i < rule->port_count; i++)
            buf_printf(out, NULL, "%s%u", i ? "," : ":{", rule->ports[i]);
        buf_printf(out, NULL, "}");
        break;
    case PORT_SINGLE:
        /* 443 of a name goes without saying, but not in a deny, where no port means every port. */
        if (rule->ports[0] != 443 || rule->effect == RULE_DENY || rule->target >= TARGET_ADDRESS)
            buf_printf(out, NULL, ":%u", rule->ports[0]);
    }
}

static void print_size(const struct rule *rule, struct buf *out)
{
    static const char units[] = "KMGT";
    uint64_t size = rule->up;
    char unit[2] = "";
    for (int i = 0; i < 4 && size && size % 1024 == 0; i++) {
        size /= 1024;
        unit[0] = units[i];
    }
    buf_printf(out, NULL, " up=%" PRIu64 "%s%s", size, unit, rule->up_hourly ? "/h" : "");
}

static void print_expires(const struct rule *rule, struct buf *out)
{
    bool day = rule->expires % 86400 == 0;
    time_t t = (time_t)rule->expires - (day ? 1 : 0);
    struct tm tm;
    char text[32];
    require(gmtime_r(&t, &tm));
    require(strftime(text, sizeof(text), day ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ", &tm) > 0);
    buf_printf(out, NULL, " expires=%s", text);
}

static void print_options(const struct rule *rule, struct buf *out)
{
    char text[CIDR_FORMAT_MAX];
    if (rule->proto_given)
        buf_printf(out, NULL, " proto=%s", proto_name(rule->proto));
    const char *sep = " methods=";
    for (size_t i = 0; i < countof(methods); i++)
        if (rule->methods & 1U << i) {
            buf_printf(out, NULL, "%s%s", sep, methods[i]);
            sep = ",";
        }
    for (size_t i = 0; i < rule->path_count; i++)
        buf_printf(out, NULL, "%s%s", i ? "," : " paths=", rule->paths[i]);
    if (rule->websocket)
        buf_printf(out, NULL, " upgrade=websocket");
    if (rule->ech_deny)
        buf_printf(out, NULL, " ech=deny");
    if (rule->has_private)
        buf_printf(out, NULL, " private=%s", cidr_format(&rule->private_range, text));
    if (rule->has_up)
        print_size(rule, out);
    if (rule->uploads)
        buf_printf(out, NULL, " uploads=%s", rule->uploads == UPLOADS_YES ? "yes" : "no");
    if (rule->expires)
        print_expires(rule, out);
    if (rule->note)
        buf_printf(out, NULL, " note=%s", rule->note);
}

/* FNV-1a: names a rule over restarts; nothing is decided by it. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        hash = (hash ^ *c) * 0x100000001b3ULL;
    return hash;
}

void rule_print(struct rule *rule)
{
    struct buf out;
    buf_init(&out, 0);
    buf_printf(&out, NULL, "%s ", rule_effect_name(rule->effect));
    print_target(rule, &out);
    print_options(rule, &out);
    rule->text = buf_take_string(&out);
    buf_finish(&out);
    uint64_t hash = hash_text(0xcbf29ce484222325ULL, rule_layer_name(rule->layer));
    snprintf(rule->id, sizeof(rule->id), "%016" PRIx64, hash_text(hash * 31, rule->text));
}

const char *rule_item(const struct rule *rule)
{
    return rule->text + strlen(rule_effect_name(rule->effect)) + 1;
}

char *rule_target(const struct rule *rule)
{
    struct buf out;
    buf_init(&out, 0);
    print_target(rule, &out);
    char *text = buf_take_string(&out);
    buf_finish(&out);
    return text;
}

bool rule_is_about(const struct rule *rule, const struct rule *mask)
{
    if (rule->target != mask->target)
        return false;
    if (rule->target == TARGET_CIDR
            ? rule->cidr.length != mask->cidr.length || !address_equal(&rule->cidr.base, &mask->cidr.base)
            : !host_equal(&rule->host, &mask->host))
        return false;
    return mask->port_form == PORT_EVERY ||
           (mask->port_form == rule->port_form && mask->port_count == rule->port_count &&
            !memcmp(mask->ports, rule->ports, mask->port_count * sizeof(mask->ports[0])));
}
