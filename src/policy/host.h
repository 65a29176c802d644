/* host.h: the canonical form of a host, the same for requests and for rules: one function, one result or an
 * error. Names are compared by their bytes in this form and in no other. No resolver is ever asked. */
#ifndef HUTCH_POLICY_HOST_H
#define HUTCH_POLICY_HOST_H

#include "base/error.h"
#include "policy/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_TEXT_MAX   253 /* bytes of a canonical name */
#define HOST_LABEL_MAX  63
#define HOST_INPUT_MAX  1024 /* bytes of what is written in a rule, before IDNA */
#define HOST_FORMAT_MAX 264  /* "[IPv6]:65535" or NAME:65535, with the NUL */

enum host_kind { HOST_NAME, HOST_IPV4, HOST_IPV6 };

/* A canonical host. Two are the same exactly if kind and text are. */
struct host {
    enum host_kind kind;
    char text[HOST_TEXT_MAX + 1]; /* "docs.rs", "192.0.2.1", "2001:db8::1" (no brackets) */
    size_t len;                   /* of text */
    unsigned label_count;         /* of a name; 0 for an address */
    struct address address;       /* of HOST_IPV4 and HOST_IPV6 */
};

enum host_mode {
    HOST_REQUEST, /* bytes of a guest: not ASCII is refused */
    HOST_RULE,    /* written by the user: UTF-8 is converted to A-labels (IDNA2008, non-transitional) */
};

/* The canonical form of data (no port): lower case, one trailing dot dropped, IPv6 in brackets only, an
 * IPv4-mapped address as the IPv4 address, "xn--" labels only if they are what their decoded form encodes to.
 * ERROR_INVALID says which rule was broken; the guest is told "form" and nothing else. */
int host_parse(const char *data, size_t len, enum host_mode mode, struct host *ret_host, struct error **err);
/* "host:port" or "[v6]:port" of a request. fallback: the port if there is none; 0: it must be there. More
 * than one colon without brackets, and a port that is not 1 to 65535 without leading zeros, is ERROR_INVALID.
 */
int host_parse_authority(const char *data, size_t len, uint16_t fallback, struct host *ret_host,
                         uint16_t *ret_port, struct error **err);
/* The host of an address, IPv4-mapped as IPv4. */
void host_from_address(const struct address *address, struct host *ret_host);
bool host_equal(const struct host *a, const struct host *b);
/* Does name end in ".suffix" at a label boundary (never equal to it; never an address)? *ret_labels: how many
 * labels stand before it. */
bool host_below(const struct host *host, const char *suffix, unsigned *ret_labels);
/* "docs.rs:443", "[2001:db8::1]:22"; without the port for port 0. Returns ret. */
char *host_format(const struct host *host, uint16_t port, char ret[HOST_FORMAT_MAX]);
/* localhost, metadata and their like: never reachable, whatever a rule says. */
bool host_is_floor(const struct host *host);
/* NAME.hutch.internal: answered by hutch itself, never by a rule. *ret_name (if not NULL): NAME, cut out. */
bool host_is_reserved(const struct host *host, char ret_name[HOST_LABEL_MAX + 1]);

/* For the screen: what may mislead in a name. */
enum host_warning {
    HOST_PLAIN,
    HOST_MIXED_SCRIPTS, /* letters of scripts that are not written together in one label */
    HOST_LOOKALIKE,     /* all letters of a label look like Latin ones and are not */
};
struct host_display {
    char *text;        /* the A-label, safe to draw: "xn--gthub-xyz.com" */
    char *decoded;     /* what it reads as, escaped where text.h does; NULL if no label is an A-label */
    char *registrable; /* the registrable domain in text, for highlighting; NULL if there is none */
    enum host_warning warning;
};
/* How a host is shown: never the decoded form alone. host_display_finish frees. */
void host_display_init(struct host_display *display, const struct host *host);
void host_display_finish(struct host_display *display);
/* The warning as words for the screen; NULL for HOST_PLAIN. */
const char *host_warning_words(enum host_warning warning);

#endif
