/* grant.h: answers that go on to hold: their scopes, what they are bound to, when they end. */
#ifndef HUTCH_POLICY_GRANT_H
#define HUTCH_POLICY_GRANT_H

#include "base/error.h"
#include "policy/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRANT_DIGEST_MAX    65                    /* SHA-256 as hex with the NUL */
#define GRANT_ONCE_SECONDS  (15 * 60)             /* "once" ends with its command, and then at the latest */
#define GRANT_NEXT_SECONDS  (24 * 60 * 60)        /* an answer after the hold serves the next attempt */
#define GRANT_STORE_SECONDS (90LL * 24 * 60 * 60) /* "project" and "all", if nothing else is said */

/* X(NAME, "word of the command line") */
#define GRANT_SCOPES                                                                                         \
    X(ONCE, "once")         /* project, session and command that asked */                                    \
    X(NEXT, "next")         /* the next attempt of the same key in the project, one time */                  \
    X(SESSION, "session")   /* project and session */                                                        \
    X(PROJECT, "project")   /* the project, over boots */                                                    \
    X(ALL, "all")           /* every project of the user */                                                  \
    X(DURATION, "duration") /* the project, until it expires */
enum grant_scope {
#define X(name, word) SCOPE_##name,
    GRANT_SCOPES
#undef X
        SCOPE_COUNT
};
const char *grant_scope_name(enum grant_scope scope);
/* SCOPE_COUNT for an unknown word. */
enum grant_scope grant_scope_from_name(const char *name);

/* A stored answer. The key is host, port and protocol, all of them exactly; never a wildcard. */
struct grant {
    uint64_t id, request_id;
    enum grant_scope scope;
    bool deny;
    struct host host;
    uint16_t port;
    enum proto proto;                 /* as the request was asked: never ANY */
    char project[REQUEST_ID_MAX + 1]; /* "" only for ALL */
    char session[REQUEST_ID_MAX + 1]; /* ONCE, SESSION */
    char command[REQUEST_ID_MAX + 1]; /* ONCE */
    bool has_private;                 /* a private address that was said yes to by itself */
    struct address private_address;
    int64_t created, expires; /* seconds since 1970; expires is never 0 but for SESSION */
    uint64_t uses;            /* how often it served; the owner counts */
    /* Who said it, seeing what. */
    uint32_t uid;
    char tty[32];
    uint64_t generation;
    char digest[GRANT_DIGEST_MAX];
};

/* A grant of a request: the key from request (its proto, or that of its port), expires by the scope
 * (DURATION: now + seconds; the others ignore seconds). ERROR_INVALID if the scope is not in `scopes`
 * (policy_scopes) or what it is bound to is missing in the request. */
int grant_init(const struct request *request, enum grant_scope scope, unsigned scopes, bool deny,
               uint64_t seconds, struct grant *ret_grant, struct error **err);
/* Does the grant's key hold for the request at request->now? NEXT holds while uses is 0. A request without
 * protocol is taken as that of its port. */
bool grant_matches(const struct grant *grant, const struct request *request);
bool grant_is_over(const struct grant *grant, int64_t now);

/* What is shown to a person is bound by a digest: SHA-256 over host, port, proto, method, path, project,
 * session, command, the reason's name, the policy's generation and the shown text, each with its length. An
 * answer applies only if digest and generation are those of now. */
void grant_digest(const struct request *request, const char *reason, uint64_t generation, const char *shown,
                  char ret[GRANT_DIGEST_MAX]);
/* Constant time. */
bool grant_digest_equal(const char *a, const char *b);

#endif
