/* rule.h: one rule of egress: its language, its canonical text, what it matches.
 *
 *     effect target [proto=P] [methods=A,B] [paths=P,P] [upgrade=websocket] [ech=deny] [private=RANGE]
 *                   [up=SIZE[/h]] [uploads=yes|no] [expires=DATE] [note=the rest of the line]
 *
 * effect: allow, ask, deny. target: name, *.name, **.name, IPv4, [IPv6] or a range of them, each with :port,
 * :first-last or :{a,b}. Without a port "allow" and "ask" mean 443 (of a name: an address needs one), "deny"
 * means every port and, without proto, every protocol. */
#ifndef HUTCH_POLICY_RULE_H
#define HUTCH_POLICY_RULE_H

#include "base/error.h"
#include "policy/address.h"
#include "policy/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_TEXT_MAX  2000 /* bytes of a rule as written */
#define RULE_PORTS_MAX 32   /* ports of a set */
#define RULE_PATHS_MAX 32
#define RULE_NOTE_MAX  200

enum rule_effect { RULE_ALLOW, RULE_ASK, RULE_DENY };

/* How the bytes of a connection are treated. ANY: not known yet (of a request), all of them (of a deny). */
enum proto { PROTO_ANY, PROTO_TLS, PROTO_HTTP, PROTO_TCP };

/* Where a rule stands; later ones only add. */
enum rule_layer { LAYER_BUILTIN, LAYER_PRESET, LAYER_USER, LAYER_PROJECT, LAYER_SESSION };

enum rule_target { TARGET_NAME, TARGET_ONE_LABEL, TARGET_ANY_LABELS, TARGET_ADDRESS, TARGET_CIDR };

enum port_form { PORT_EVERY, PORT_RANGE, PORT_SET, PORT_SINGLE };

/* Bits of methods. */
#define RULE_METHODS X(GET) X(HEAD) X(POST) X(PUT) X(PATCH) X(DELETE) X(OPTIONS)
enum rule_method_bit {
#define X(name) METHOD_BIT_##name,
    RULE_METHODS
#undef X
        METHOD_BIT_COUNT
};

enum rule_uploads { UPLOADS_UNSAID, UPLOADS_NO, UPLOADS_YES };

struct rule {
    enum rule_effect effect;
    enum rule_target target;
    struct host host; /* NAME, ADDRESS; of the wildcards what stands behind "*." (text "" for "*" and "**") */
    struct cidr cidr; /* of CIDR */
    enum port_form port_form;
    uint16_t ports[RULE_PORTS_MAX]; /* SINGLE: 1; SET: sorted, each once; RANGE: first and last */
    size_t port_count;
    enum proto proto;
    bool proto_given;
    unsigned methods;            /* 1 << METHOD_BIT_…; 0: every method */
    char *paths[RULE_PATHS_MAX]; /* patterns */
    size_t path_count;           /* 0: every path */
    bool websocket, ech_deny;
    bool has_private;
    struct cidr private_range;
    bool has_up, up_hourly;    /* up=SIZE/h: a name and hour; up=SIZE: a connection */
    uint64_t up;               /* bytes */
    enum rule_uploads uploads; /* can what is sent there be picked up by others? */
    int64_t expires;           /* seconds since 1970 at which it ends; 0: never */
    char *note;                /* or NULL */
    char *display;             /* the target as written where that was not ASCII, else NULL */
    /* Where it comes from. */
    enum rule_layer layer;
    char *source; /* file or preset, for people; or NULL */
    int line;     /* or 0 */
    char *text;   /* canonical: rule_parse of it gives the same rule and the same text */
    char id[17];  /* first 16 hex digits of a hash of layer and text: the same over restarts */
};

/* Where a rule is read from. Errors say "file:line:column: words", or "column N: words" without a file. */
struct rule_origin {
    enum rule_layer layer;
    const char *source;
    int line, column;          /* of the text's first byte, from 1; 0: not in a file */
    enum rule_uploads uploads; /* if the rule does not say */
};

/* Reads one rule. ERROR_INVALID has the place, the reason and as hint the way out; nothing is half read.
 * Wildcards over a public suffix are errors in allow and ask. */
int rule_parse(const char *text, size_t len, const struct rule_origin *origin, struct rule **ret_rule,
               struct error **err);
void rule_free(struct rule *rule);
AUTO_DEFINE(rule, struct rule *, rule_free);
/* The canonical text without the effect: what stands in a list of an INI file. Points into rule->text. */
const char *rule_item(const struct rule *rule);
/* Target and ports alone ("docs.rs", "*.debian.org:80"). The caller frees. */
char *rule_target(const struct rule *rule);
/* Is the rule about what a mask names: the same target, and the same ports if the mask has some? The mask of
 * "-TARGET" in a project's presets is rule_parse of "deny TARGET". */
bool rule_is_about(const struct rule *rule, const struct rule *mask);

const char *rule_effect_name(enum rule_effect effect);
const char *rule_layer_name(enum rule_layer layer);
const char *proto_name(enum proto proto); /* "any", "tls", "http", "tcp" */
/* The bit of a method's name (exact case), or 0. */
unsigned rule_method_bit(const char *method, size_t len);

/* How specific: greater wins. Kind, labels (prefix length of a range), ports, proto, methods, literal path.
 */
uint64_t rule_specificity(const struct rule *rule);

struct request;
/* Does the rule match, all of its fields but the effect? A wildcard of allow and ask never reaches over a
 * public suffix: **.amazonaws.com does not hold x.s3.amazonaws.com. Without a method in the request a rule
 * with methods or paths matches if it allows or asks (the head will be judged again) and not if it denies. */
bool rule_matches(const struct rule *rule, const struct request *request);
/* Does a path pattern match a canonical path? "*" within a segment, "**" over segments. */
bool rule_path_matches(const char *pattern, const char *path);

#endif
