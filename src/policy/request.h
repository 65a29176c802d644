/* request.h: what is asked for. Every entrance (CONNECT, absolute URI, SOCKS5, captured TCP, `rule test`)
 * ends in this one form, and nothing of the entrance is in it. */
#ifndef HUTCH_POLICY_REQUEST_H
#define HUTCH_POLICY_REQUEST_H

#include "policy/host.h"
#include "policy/rule.h"

#include <stdint.h>

#define REQUEST_ID_MAX   63  /* bytes of the ids below */
#define REQUEST_RULE_MAX 320 /* a rule that would allow a request */

/* The strings are the caller's and must live as long as the request is used; NULL: not known. */
struct request {
    struct host host;
    uint16_t port;      /* 1 to 65535 */
    enum proto proto;   /* ANY until the first bytes were seen */
    const char *method; /* of an HTTP request whose head was read */
    const char *path;   /* canonical, without the query */
    /* Whose it is: from the channel it came in on, and (session, command) as the guest claims. */
    const char *project, *session, *command;
    int64_t now; /* seconds since 1970, for rules and grants that expire */
};

/* Fills host and port from "host:port" (port may be left out with fallback) and leaves the rest zero.
 * ERROR_INVALID: a form error (verdict_form). */
int request_parse(const char *authority, size_t len, uint16_t fallback, struct request *ret_request,
                  struct error **err);
/* The protocol that a connection to this port has if nobody says otherwise: tls, http, tcp. */
enum proto proto_of_port(uint16_t port);
/* The canonical rule that would allow just this: "allow docs.rs", "allow git.test:22 proto=tcp". Returns ret.
 */
char *request_missing(const struct request *request, char ret[REQUEST_RULE_MAX]);
/* The same with private=ADDRESS/32 (or /128) for an address that the name led to. */
char *request_missing_private(const struct request *request, const struct address *address,
                              char ret[REQUEST_RULE_MAX]);

#endif
