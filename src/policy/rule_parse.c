/* The language of rules: text to struct rule, or an error with its column. */
#include "policy/rule.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "policy/rule_internal.h"
#include "policy/suffix.h"

#include <string.h>
#include <time.h>

struct parser {
    const char *text;
    size_t len;
    const struct rule_origin *origin;
    struct rule *rule;
    struct error **err;
    unsigned seen; /* options that were there, a bit each */
};

/* Reports at byte `at`; the hint may be NULL. Returns -ERROR_INVALID. */
static int fail(struct parser *parser, size_t at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int fail(struct parser *parser, size_t at, const char *hint, const char *format, ...)
{
    const struct rule_origin *origin = parser->origin;
    int column = origin->line ? origin->column : 1;
    for (size_t i = 0; i < at && i < parser->len; column++) {
        int32_t c;
        i += text_decode(parser->text + i, parser->len - i, &c);
    }
    va_list args;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    if (origin->line)
        error_set(parser->err, ERROR_INVALID, "%s:%d:%d: %s", origin->source ? origin->source : "rules",
                  origin->line, column, words);
    else
        error_set(parser->err, ERROR_INVALID, "column %d: %s", column, words);
    if (hint && parser->err)
        error_hint(parser->err, "%s", hint);
    return -ERROR_INVALID;
}

/* Moves the message of a part's error to byte `at`. */
static int fail_with(struct parser *parser, size_t at, const struct error *why)
{
    return fail(parser, at, why->hint, "%s", why->message);
}

static int check_bytes(struct parser *parser)
{
    if (parser->len > RULE_TEXT_MAX)
        return fail(parser, 0, "split it", "the rule has %zu bytes, the limit is %d", parser->len,
                    RULE_TEXT_MAX);
    for (size_t i = 0; i < parser->len;) {
        int32_t c;
        size_t n = text_decode(parser->text + i, parser->len - i, &c);
        if (c < 0)
            return fail(parser, i, "write it as UTF-8", "a byte that is not UTF-8");
        if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfeff)
            return fail(parser, i, "between words stands one space", "a control character: U+%04X",
                        (unsigned)c);
        i += n;
    }
    return 0;
}

/* The next word from *at; its start in *at, its length in the result (0: the end). */
static size_t next_word(const struct parser *parser, size_t *at)
{
    while (*at < parser->len && parser->text[*at] == ' ')
        ++*at;
    const char *end = memchr(parser->text + *at, ' ', parser->len - *at);
    return end ? (size_t)(end - parser->text) - *at : parser->len - *at;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && !memcmp(text, word, len);
}

static int parse_effect(struct parser *parser, size_t at, size_t len)
{
    static const char *const names[] = {"allow", "ask", "deny", NULL};
    for (int i = 0; names[i]; i++)
        if (is_word(parser->text + at, len, names[i])) {
            parser->rule->effect = (enum rule_effect)i;
            return 0;
        }
    autofree char *written = xstrndup(parser->text + at, len);
    const char *near = text_nearest(written, names);
    autofree char *hint = near ? xasprintf("did you mean \"%s\"?", near)
                               : xstrdup("a rule is \"allow HOST\", \"ask HOST\" or \"deny HOST\"");
    return fail(parser, at, hint, "a rule begins with allow, ask or deny, not with \"%s\"", written);
}

/* One port at text[at, end). */
static int parse_port(struct parser *parser, size_t at, size_t end, uint16_t *ret_port)
{
    unsigned port = 0;
    bool good = end > at && end - at <= 5 && parser->text[at] != '0';
    for (size_t i = at; good && i < end; i++) {
        good = parser->text[i] >= '0' && parser->text[i] <= '9';
        port = port * 10 + (unsigned)(parser->text[i] - '0');
    }
    if (!good || port > UINT16_MAX)
        return fail(parser, at, "ports are 443, 8000-8080 or {80,443}", "\"%.*s\" is no port (1 to 65535)",
                    (int)(end - at), parser->text + at);
    *ret_port = (uint16_t)port;
    return 0;
}

static int parse_set(struct parser *parser, size_t at, size_t end)
{
    struct rule *rule = parser->rule;
    if (end - at < 2 || parser->text[end - 1] != '}')
        return fail(parser, at, "a set of ports is {80,443}, without blanks", "the \"}\" is missing");
    for (size_t i = at + 1; i < end;) {
        const char *comma = memchr(parser->text + i, ',', end - 1 - i);
        size_t stop = comma ? (size_t)(comma - parser->text) : end - 1;
        uint16_t port;
        if (rule->port_count == RULE_PORTS_MAX)
            return fail(parser, i, "write a second rule", "more than %d ports", RULE_PORTS_MAX);
        if (parse_port(parser, i, stop, &port) < 0)
            return -ERROR_INVALID;
        size_t k = rule->port_count;
        for (; k > 0 && rule->ports[k - 1] >= port; k--)
            if (rule->ports[k - 1] == port)
                return fail(parser, i, "remove one of them", "port %u stands there twice", port);
        memmove(rule->ports + k + 1, rule->ports + k, (rule->port_count - k) * sizeof(rule->ports[0]));
        rule->ports[k] = port;
        rule->port_count++;
        i = stop + 1;
    }
    rule->port_form = rule->port_count == 1 ? PORT_SINGLE : PORT_SET;
    return 0;
}

static int parse_ports(struct parser *parser, size_t at, size_t end)
{
    struct rule *rule = parser->rule;
    if (at < end && parser->text[at] == '{')
        return parse_set(parser, at, end);
    const char *dash = memchr(parser->text + at, '-', end - at);
    size_t stop = dash ? (size_t)(dash - parser->text) : end;
    if (parse_port(parser, at, stop, &rule->ports[0]) < 0 ||
        (dash && parse_port(parser, stop + 1, end, &rule->ports[1]) < 0))
        return -ERROR_INVALID;
    rule->port_form = dash ? PORT_RANGE : PORT_SINGLE;
    rule->port_count = dash ? 2 : 1;
    if (dash && rule->ports[0] >= rule->ports[1])
        return fail(parser, at, "the smaller one stands first", "ports %u-%u are no range", rule->ports[0],
                    rule->ports[1]);
    return 0;
}

/* "*.name", "**.name", "*", "**": the length of the stars, 0 for none. */
static size_t parse_stars(struct parser *parser, size_t at, size_t end, size_t *ret_name)
{
    size_t stars = 0;
    while (at + stars < end && stars < 2 && parser->text[at + stars] == '*')
        stars++;
    parser->rule->target = stars == 1 ? TARGET_ONE_LABEL : stars == 2 ? TARGET_ANY_LABELS : TARGET_NAME;
    *ret_name = at + stars;
    return stars;
}

static int parse_name(struct parser *parser, size_t at, size_t end)
{
    struct rule *rule = parser->rule;
    size_t name;
    size_t stars = parse_stars(parser, at, end, &name);
    if (stars && name == end) { /* "*" and "**" */
        if (rule->effect != RULE_DENY)
            return fail(parser, at, "name the hosts; only \"deny **\" is about all of them",
                        "\"%.*s\" is everything", (int)(end - at), parser->text + at);
        return 0;
    }
    if (stars && parser->text[name++] != '.')
        return fail(parser, at, "a wildcard is *.NAME (one label) or **.NAME (one or more)",
                    "after the star stands no dot");
    const char *star = memchr(parser->text + name, '*', end - name);
    if (star)
        return fail(parser, (size_t)(star - parser->text), "write *.NAME or **.NAME",
                    "a wildcard stands at the left end only");
    auto(error) struct error *why = NULL;
    if (host_parse(parser->text + name, end - name, HOST_RULE, &rule->host, &why) < 0)
        return fail_with(parser, name, why);
    for (size_t i = name; i < end; i++)
        if ((unsigned char)parser->text[i] > 0x7f && !rule->display)
            rule->display = xstrndup(parser->text + at, end - at);
    if (rule->host.kind != HOST_NAME) {
        if (stars)
            return fail(parser, at, "a range is written 192.0.2.0/24", "an address has no wildcard");
        rule->target = TARGET_ADDRESS;
        return 0;
    }
    if (rule->effect == RULE_DENY)
        return 0;
    if (stars && suffix_is_public(rule->host.text))
        return fail(parser, at, "name the host, or a domain that belongs to one owner",
                    "anybody can have a name under \"%s\"", rule->host.text);
    if (host_is_floor(&rule->host))
        return fail(parser, name, "for a port of this host: [host-port NAME]", "no rule opens \"%s\"",
                    rule->host.text);
    if (host_is_reserved(&rule->host, NULL))
        return fail(parser, name, "say where it goes in [host-port NAME]", "\"%s\" is hutch's own name",
                    rule->host.text);
    return 0;
}

/* The end of the host part of a target: the colon before the ports, or its end. */
static int find_colon(struct parser *parser, size_t at, size_t end, size_t *ret_colon)
{
    const char *text = parser->text;
    size_t from = at;
    if (text[at] == '[') {
        const char *bracket = memchr(text + at, ']', end - at);
        if (!bracket)
            return fail(parser, at, "an IPv6 address is [2001:db8::1]", "the \"]\" is missing");
        from = (size_t)(bracket - text) + 1;
    }
    const char *colon = memchr(text + from, ':', end - from);
    *ret_colon = colon ? (size_t)(colon - text) : end;
    if (colon && memchr(colon + 1, ':', end - *ret_colon - 1))
        return fail(parser, *ret_colon, "an IPv6 address stands in brackets: [2001:db8::1]:443",
                    "more than one colon");
    return 0;
}

static int parse_target(struct parser *parser, size_t at, size_t end)
{
    struct rule *rule = parser->rule;
    size_t colon = end;
    if (memmem(parser->text + at, end - at, "://", 3))
        return fail(parser, at, "write the host alone, such as docs.rs", "a rule takes no URL");
    if (find_colon(parser, at, end, &colon) < 0)
        return -ERROR_INVALID;
    if (memchr(parser->text + at, '/', colon - at)) {
        auto(error) struct error *why = NULL;
        rule->target = TARGET_CIDR;
        if (cidr_parse(parser->text + at, colon - at, &rule->cidr, &why) < 0)
            return fail_with(parser, at, why);
    } else if (parse_name(parser, at, colon) < 0) {
        return -ERROR_INVALID;
    }
    if (colon < end)
        return parse_ports(parser, colon + 1, end);
    if (rule->effect == RULE_DENY)
        return 0;
    if (rule->target >= TARGET_ADDRESS)
        return fail(parser, end, "such as :22", "an address needs a port");
    rule->port_form = PORT_SINGLE;
    rule->ports[0] = 443;
    rule->port_count = 1;
    return 0;
}

static int parse_proto(struct parser *parser, size_t at, size_t len)
{
    static const char *const names[] = {"", "tls", "http", "tcp"};
    for (int i = PROTO_TLS; i <= PROTO_TCP; i++)
        if (is_word(parser->text + at, len, names[i])) {
            parser->rule->proto = (enum proto)i;
            parser->rule->proto_given = true;
            return 0;
        }
    return fail(parser, at, "proto is tls, http or tcp", "no protocol \"%.*s\"", (int)len, parser->text + at);
}

static int parse_methods(struct parser *parser, size_t at, size_t len)
{
    for (size_t i = at; i <= at + len;) {
        const char *comma = memchr(parser->text + i, ',', at + len - i);
        size_t stop = comma ? (size_t)(comma - parser->text) : at + len;
        unsigned bit = rule_method_bit(parser->text + i, stop - i);
        if (!bit)
            return fail(parser, i, "methods are GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS",
                        "no method \"%.*s\"", (int)(stop - i), parser->text + i);
        if (parser->rule->methods & bit)
            return fail(parser, i, "remove one of them", "\"%.*s\" stands there twice", (int)(stop - i),
                        parser->text + i);
        parser->rule->methods |= bit;
        i = stop + 1;
    }
    return 0;
}

/* Is what stands between slashes fit for a canonical path or a pattern of it? */
static bool is_path(const char *path, size_t len)
{
    if (!len || path[0] != '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = path[i];
        if (c == '%') {
            static const char hex[] = "0123456789ABCDEF";
            if (i + 2 >= len || !memchr(hex, path[i + 1], 16) || !memchr(hex, path[i + 2], 16))
                return false;
        } else if (c <= ' ' || c > '~' || strchr("\"#<>?\\^`{|}", c)) {
            return false;
        }
        if (c == '/' && i + 1 < len) {
            size_t segment = 0;
            while (i + 1 + segment < len && path[i + 1 + segment] != '/')
                segment++;
            if ((!segment) || is_word(path + i + 1, segment, ".") || is_word(path + i + 1, segment, ".."))
                return false;
        }
    }
    return true;
}

static int parse_paths(struct parser *parser, size_t at, size_t len)
{
    struct rule *rule = parser->rule;
    for (size_t i = at; i <= at + len;) {
        const char *comma = memchr(parser->text + i, ',', at + len - i);
        size_t stop = comma ? (size_t)(comma - parser->text) : at + len;
        if (rule->path_count == RULE_PATHS_MAX)
            return fail(parser, i, "write a second rule", "more than %d paths", RULE_PATHS_MAX);
        if (!is_path(parser->text + i, stop - i))
            return fail(parser, i, "a path begins with / and has no //, .., query or lower-case %xx",
                        "\"%.*s\" is no path that a request can have", (int)(stop - i), parser->text + i);
        rule->paths[rule->path_count++] = xstrndup(parser->text + i, stop - i);
        i = stop + 1;
    }
    return 0;
}

static int parse_private(struct parser *parser, size_t at, size_t len)
{
    auto(error) struct error *why = NULL;
    if (cidr_parse(parser->text + at, len, &parser->rule->private_range, &why) < 0 ||
        cidr_check_private(&parser->rule->private_range, &why) < 0)
        return fail_with(parser, at, why);
    parser->rule->has_private = true;
    return 0;
}

static int parse_up(struct parser *parser, size_t at, size_t len)
{
    struct rule *rule = parser->rule;
    rule->up_hourly = len > 2 && !memcmp(parser->text + at + len - 2, "/h", 2);
    autofree char *size = xstrndup(parser->text + at, len - 2 * (size_t)rule->up_hourly);
    auto(error) struct error *why = NULL;
    if (units_parse_size(size, &rule->up, &why) < 0 || rule->up > INT64_MAX)
        return fail(parser, at, "up=8M/h (a name and hour) or up=64K (a connection)", "\"%s\" is no size",
                    size);
    rule->has_up = true;
    return 0;
}

static int parse_uploads(struct parser *parser, size_t at, size_t len)
{
    bool yes = is_word(parser->text + at, len, "yes");
    if (!yes && !is_word(parser->text + at, len, "no"))
        return fail(parser, at, "uploads=yes or uploads=no", "\"%.*s\" is neither yes nor no", (int)len,
                    parser->text + at);
    parser->rule->uploads = yes ? UPLOADS_YES : UPLOADS_NO;
    return 0;
}

/* "2027-03-01" (that day is the last one, UTC) or "2027-03-01T12:00:00Z". */
static int parse_expires(struct parser *parser, size_t at, size_t len)
{
    struct tm tm = {0}, again;
    char text[24] = "";
    bool day = len == 10;
    if (day || len == 20) {
        memcpy(text, parser->text + at, len);
        const char *end = strptime(text, day ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ", &tm);
        again = tm;
        time_t t = timegm(&again);
        char form[24] = "";
        strftime(form, sizeof(form), day ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ", &again);
        if (end && !*end && t > 0 && !strcmp(form, text)) {
            parser->rule->expires = (int64_t)t + (day ? 86400 : 0);
            return 0;
        }
    }
    return fail(parser, at, "expires=2027-03-01 (its last day, UTC) or 2027-03-01T12:00:00Z",
                "\"%.*s\" is no date", (int)len, parser->text + at);
}

static int parse_note(struct parser *parser, size_t at, size_t len)
{
    while (len > 0 && parser->text[at + len - 1] == ' ')
        len--;
    if (!len || len > RULE_NOTE_MAX)
        return fail(parser, at, "it is the rest of the line", "a note has 1 to %d bytes", RULE_NOTE_MAX);
    parser->rule->note = xstrndup(parser->text + at, len);
    return 0;
}

static int parse_ech(struct parser *parser, size_t at, size_t len)
{
    if (!is_word(parser->text + at, len, "deny"))
        return fail(parser, at, "leave it out to let it pass", "ech can only be deny");
    parser->rule->ech_deny = true;
    return 0;
}

static int parse_upgrade(struct parser *parser, size_t at, size_t len)
{
    if (!is_word(parser->text + at, len, "websocket"))
        return fail(parser, at, NULL, "upgrade can only be websocket");
    parser->rule->websocket = true;
    return 0;
}

static const struct option {
    const char *name;
    int (*parse)(struct parser *parser, size_t at, size_t len);
} options[] = {
    {"proto", parse_proto},     {"methods", parse_methods}, {"paths", parse_paths},
    {"upgrade", parse_upgrade}, {"ech", parse_ech},         {"private", parse_private},
    {"up", parse_up},           {"uploads", parse_uploads}, {"expires", parse_expires},
    {"note", parse_note},
};

static int unknown_option(struct parser *parser, size_t at, size_t len)
{
    const char *names[countof(options) + 1] = {0};
    for (size_t i = 0; i < countof(options); i++)
        names[i] = options[i].name;
    autofree char *written = xstrndup(parser->text + at, len);
    const char *near = text_nearest(written, names);
    autofree char *hint = near ? xasprintf("did you mean \"%s=\"?", near)
                               : xstrdup("after the target stand proto=, methods=, paths=, up= and the like");
    return fail(parser, at, hint, "a rule has no \"%s\"", written);
}

/* "key=value" at text[*at, *at + len); a note takes all that follows and moves *len. */
static int parse_option(struct parser *parser, size_t at, size_t *len)
{
    const char *equals = memchr(parser->text + at, '=', *len);
    size_t key = equals ? (size_t)(equals - parser->text) - at : *len;
    for (size_t i = 0; i < countof(options); i++) {
        if (!is_word(parser->text + at, key, options[i].name))
            continue;
        if (!equals)
            return fail(parser, at, NULL, "\"%s\" has no value", options[i].name);
        if (parser->seen & 1U << i)
            return fail(parser, at, "remove one of them", "\"%s\" stands there twice", options[i].name);
        parser->seen |= 1U << i;
        if (options[i].parse == parse_note)
            *len = parser->len - at;
        return options[i].parse(parser, at + key + 1, *len - key - 1);
    }
    return unknown_option(parser, at, key);
}

/* What only makes sense together. */
static int check_whole(struct parser *parser)
{
    struct rule *rule = parser->rule;
    if (rule->effect != RULE_DENY) {
        enum proto proto = rule->port_form == PORT_SINGLE ? proto_of_port(rule->ports[0]) : PROTO_TCP;
        if (rule->proto_given && proto == rule->proto && proto != PROTO_TCP)
            rule->proto_given = false; /* said twice: the same rule as without it */
        else if (!rule->proto_given && proto == PROTO_TCP)
            return fail(parser, parser->len, "add proto=tls, proto=http or proto=tcp",
                        "only 443 (tls) and 80 (http) say their protocol by themselves");
        if (!rule->proto_given)
            rule->proto = proto;
    }
    if ((rule->methods || rule->path_count || rule->websocket) && rule->proto != PROTO_HTTP)
        return fail(parser, parser->len, "they need proto=http; in TLS hutch sees no method and no path",
                    "methods, paths and upgrade are for http");
    if (rule->ech_deny && rule->proto != PROTO_TLS)
        return fail(parser, parser->len, "remove it", "ech=deny is for tls");
    if (rule->effect == RULE_DENY && (rule->has_private || rule->has_up || rule->websocket || rule->ech_deny))
        return fail(parser, parser->len, "remove it", "a deny takes no private, up, upgrade or ech");
    return 0;
}

int rule_parse(const char *text, size_t len, const struct rule_origin *origin, struct rule **ret_rule,
               struct error **err)
{
    static const struct rule_origin nowhere = {.layer = LAYER_PROJECT};
    auto(rule) struct rule *rule = xnew(struct rule);
    struct parser parser = {text, len, origin ? origin : &nowhere, rule, err, 0};
    if (check_bytes(&parser) < 0)
        return -ERROR_INVALID;
    size_t at = 0;
    size_t word = next_word(&parser, &at);
    if (parse_effect(&parser, at, word) < 0)
        return -ERROR_INVALID;
    at += word;
    word = next_word(&parser, &at);
    if (!word)
        return fail(&parser, len, "such as docs.rs or *.debian.org:80", "the host is missing");
    if (parse_target(&parser, at, at + word) < 0)
        return -ERROR_INVALID;
    for (at += word; (word = next_word(&parser, &at)) > 0; at += word)
        if (parse_option(&parser, at, &word) < 0)
            return -ERROR_INVALID;
    if (check_whole(&parser) < 0)
        return -ERROR_INVALID;
    rule->layer = parser.origin->layer;
    rule->source = xstrdup(parser.origin->source);
    rule->line = parser.origin->line;
    rule_print(rule); /* before what the preset says of all its lines: the text is of this line alone */
    if (rule->uploads == UPLOADS_UNSAID)
        rule->uploads = parser.origin->uploads;
    *ret_rule = steal(&rule);
    return 0;
}
