#include "policy/grant.h"

#include "base/alloc.h"

#include <string.h>

static const char *const scopes_known[] = {
#define X(name, word) word,
    GRANT_SCOPES
#undef X
};

const char *grant_scope_name(enum grant_scope scope)
{
    require(scope < SCOPE_COUNT);
    return scopes_known[scope];
}

enum grant_scope grant_scope_from_name(const char *name)
{
    enum grant_scope scope = 0;
    while (scope < SCOPE_COUNT && strcmp(scopes_known[scope], name) != 0)
        scope++;
    return scope;
}

/* Copies an id of the request; NULL is "". False: it is too long to be told apart. */
static bool copy_id(char to[REQUEST_ID_MAX + 1], const char *from)
{
    size_t len = from ? strlen(from) : 0;
    if (len > REQUEST_ID_MAX)
        return false;
    memcpy(to, from ? from : "", len);
    to[len] = '\0';
    return true;
}

/* When the grant of a scope ends. */
static int64_t end_of(enum grant_scope scope, int64_t now, uint64_t seconds)
{
    switch (scope) {
    case SCOPE_ONCE:
        return now + GRANT_ONCE_SECONDS;
    case SCOPE_NEXT:
        return now + GRANT_NEXT_SECONDS;
    case SCOPE_SESSION:
        return 0;
    case SCOPE_DURATION:
        return now + (int64_t)(seconds < GRANT_STORE_SECONDS ? seconds : GRANT_STORE_SECONDS);
    default:
        return now + GRANT_STORE_SECONDS;
    }
}

int grant_init(const struct request *request, enum grant_scope scope, unsigned scopes, bool deny,
               uint64_t seconds, struct grant *ret_grant, struct error **err)
{
    require(scope < SCOPE_COUNT);
    struct grant grant = {.scope = scope, .deny = deny, .host = request->host, .port = request->port};
    if (!(scopes & 1U << scope)) {
        int code = error_set(err, ERROR_INVALID, "\"%s\" is not offered for \"%s\"", grant_scope_name(scope),
                             request->host.text);
        if (err)
            error_hint(err, "say once, or write the rule yourself");
        return code;
    }
    grant.proto = request->proto == PROTO_ANY ? proto_of_port(request->port) : request->proto;
    grant.created = request->now;
    grant.expires = end_of(scope, request->now, seconds);
    bool mine = scope == SCOPE_ONCE || scope == SCOPE_SESSION;
    if ((scope != SCOPE_ALL && !copy_id(grant.project, request->project)) ||
        (mine && !copy_id(grant.session, request->session)) ||
        (scope == SCOPE_ONCE && !copy_id(grant.command, request->command)))
        return error_set(err, ERROR_INVALID, "an id of the request has more than %d bytes", REQUEST_ID_MAX);
    if ((scope != SCOPE_ALL && !*grant.project) || (scope == SCOPE_SESSION && !*grant.session))
        return error_set(err, ERROR_INVALID, "nobody knows whose request \"%s\" is", request->host.text);
    *ret_grant = grant;
    return 0;
}

static bool same(const char *mine, const char *theirs)
{
    return !strcmp(mine, theirs ? theirs : "");
}

bool grant_is_over(const struct grant *grant, int64_t now)
{
    if (grant->scope == SCOPE_NEXT && grant->uses > 0)
        return true;
    return grant->expires ? now >= grant->expires : grant->scope != SCOPE_SESSION;
}

bool grant_matches(const struct grant *grant, const struct request *request)
{
    enum proto proto = request->proto == PROTO_ANY ? proto_of_port(request->port) : request->proto;
    if (grant->port != request->port || grant->proto != proto || !host_equal(&grant->host, &request->host) ||
        grant_is_over(grant, request->now))
        return false;
    if (grant->scope != SCOPE_ALL && (!*grant->project || !same(grant->project, request->project)))
        return false;
    if ((grant->scope == SCOPE_SESSION || grant->scope == SCOPE_ONCE) &&
        !same(grant->session, request->session))
        return false;
    return grant->scope != SCOPE_ONCE || same(grant->command, request->command);
}
