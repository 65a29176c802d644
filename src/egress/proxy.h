/* proxy.h: the user's own proxy, by which connections leave this host: an HTTP proxy that is asked to
 * CONNECT. Its password is in the value that is sent to it and nowhere else. */
#ifndef HUTCH_EGRESS_PROXY_H
#define HUTCH_EGRESS_PROXY_H

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/host.h"

#include <stdbool.h>

#define PROXY_USER_MAX          768  /* bytes of user:password */
#define PROXY_AUTHORIZATION_MAX 1040 /* of "Basic …", with its NUL */

struct proxy {
    char authority[HOST_FORMAT_MAX];             /* "proxy.corp.example:3128" */
    char authorization[PROXY_AUTHORIZATION_MAX]; /* "Basic …", "" without a user */
    char *except;                                /* as NO_PROXY has it, never NULL */
};

/* Reads "http://[USER[:PASSWORD]@]HOST[:PORT]" (port 80 if none is given; %XX in user and password). except:
 * names that are reached without it, or NULL. The message of an error has no user and no password. */
int proxy_parse(const char *url, const char *except, struct proxy **ret_proxy, struct error **err);
/* Wipes it. NULL is fine. */
void proxy_destroy(struct proxy *proxy);
AUTO_DEFINE(proxy, struct proxy *, proxy_destroy);
/* Is this reached without it? Entries: "*"; NAME or .NAME, with all below it; an address; a range as
 * 10.0.0.0/8; each with a :PORT if it is of that one alone. */
bool proxy_excepts(const struct proxy *proxy, const struct host *host, uint16_t port);

#endif
