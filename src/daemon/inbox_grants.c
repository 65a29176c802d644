#include "daemon/inbox_grants.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/units.h"
#include "daemon/state_requests.h"
#include "daemon/way.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>

#define MEMORY_ID (1ULL << 62) /* ids of grants that are not stored begin behind it */
#define SECOND_NS 1000000000LL

struct inbox_grants {
    struct grant *list; /* one row: policy_decide takes it as it is */
    size_t count;
    uint64_t last_memory_id;
};

static int64_t now_s(void)
{
    return units_now_ns() / SECOND_NS;
}

static bool is_stored(const struct grant *grant)
{
    return grant->id < MEMORY_ID;
}

static void keep(struct inbox_grants *grants, const struct grant *grant)
{
    grants->list = xrealloc(grants->list, grants->count + 1, sizeof(*grants->list));
    grants->list[grants->count++] = *grant;
}

/* Out of the store. One that cannot be deleted stays in the file and comes back with the next hutchd: said.
 */
static void drop(struct daemon *daemon, size_t i)
{
    struct inbox_grants *grants = daemon->inbox_grants;
    auto(error) struct error *err = NULL;

    if (is_stored(&grants->list[i]) && state_grant_delete(daemon->state, grants->list[i].id, &err) < 0)
        log_error("grant %llu: %s", (unsigned long long)grants->list[i].id, err->message);
    grants->list[i] = grants->list[--grants->count];
}

int inbox_grants_add(struct daemon *daemon, const struct grant *grant, struct error **err)
{
    struct inbox_grants *grants = daemon->inbox_grants;
    bool memory = grant->scope == SCOPE_ONCE || grant->scope == SCOPE_SESSION;
    struct grant mine = *grant;
    int rc = 0;

    if (memory)
        mine.id = MEMORY_ID + ++grants->last_memory_id;
    else
        rc = state_grant_save(daemon->state, &mine, err);
    if (rc == 0)
        keep(grants, &mine);
    return rc;
}

size_t inbox_grants_list(struct daemon *daemon, const struct grant **ret_grants)
{
    struct inbox_grants *grants = daemon->inbox_grants;

    for (size_t i = grants->count; i-- > 0;)
        if (grant_is_over(&grants->list[i], now_s()))
            drop(daemon, i);
    *ret_grants = grants->list;
    return grants->count;
}

const struct grant *inbox_grants_of(struct daemon *daemon, int64_t request)
{
    struct inbox_grants *grants = daemon->inbox_grants;

    for (size_t i = grants->count; i-- > 0;)
        if (grants->list[i].request_id == (uint64_t)request)
            return &grants->list[i];
    return NULL;
}

void inbox_grants_used(struct daemon *daemon, const struct grant *grant)
{
    struct inbox_grants *grants = daemon->inbox_grants;
    auto(error) struct error *err = NULL;

    for (size_t i = 0; i < grants->count; i++) {
        struct grant *mine = &grants->list[i];
        if (mine->id != grant->id)
            continue;
        mine->uses++;
        /* That the next attempt was made must not be forgotten; how often another one served may be. */
        if (mine->scope == SCOPE_NEXT && state_grant_save(daemon->state, mine, &err) < 0)
            log_error("grant %llu: %s", (unsigned long long)mine->id, err->message);
        return;
    }
}

/* ---- showing ---- */

char *inbox_grant_word(const struct grant *grant, char ret[INBOX_GRANT_WORD_MAX])
{
    if (is_stored(grant))
        snprintf(ret, INBOX_GRANT_WORD_MAX, "g%llu", (unsigned long long)grant->id);
    else
        snprintf(ret, INBOX_GRANT_WORD_MAX, "m%llu", (unsigned long long)(grant->id - MEMORY_ID));
    return ret;
}

char *inbox_grant_text(const struct grant *grant, char ret[REQUEST_RULE_MAX])
{
    const struct request request = {.host = grant->host, .port = grant->port, .proto = grant->proto};
    static const char allow[] = "allow ";

    if (grant->has_private)
        request_missing_private(&request, &grant->private_address, ret);
    else
        request_missing(&request, ret);
    if (grant->deny) {
        autofree char *target = xstrdup(ret + strlen(allow));

        snprintf(ret, REQUEST_RULE_MAX, "deny %s", target);
    }
    return ret;
}

static bool is_of(const struct grant *grant, const char *project)
{
    return grant->scope == SCOPE_ALL || !strcmp(grant->project, project);
}

static json_t *show(const struct grant *grant)
{
    char word[INBOX_GRANT_WORD_MAX], text[REQUEST_RULE_MAX];
    autofree char *source = xasprintf("request #%llu, %s", (unsigned long long)grant->request_id, grant->tty);
    json_t *json = json_pack(
        "{s:s, s:s, s:o, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "id", inbox_grant_word(grant, word), "layer",
        "grant", "source", json_bytes(source, strlen(source)), "text", inbox_grant_text(grant, text),
        "decision", grant->deny ? "deny" : "allow", "scope", grant_scope_name(grant->scope), "request",
        (json_int_t)grant->request_id, "created_ns", (json_int_t)(grant->created * SECOND_NS), "hits",
        (json_int_t)grant->uses, "last_ns", (json_int_t)0);

    require(json);
    if (grant->expires)
        json_object_set_new(json, "expires_ns", json_integer((json_int_t)(grant->expires * SECOND_NS)));
    if (grant->session[0])
        json_object_set_new(json, "session", json_bytes(grant->session, strlen(grant->session)));
    return json;
}

json_t *inbox_grants_show(struct daemon *daemon, const char *project)
{
    const struct grant *grants;
    size_t count = inbox_grants_list(daemon, &grants);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        if (is_of(&grants[i], project))
            json_array_append_new(list, show(&grants[i]));
    return list;
}

/* ---- taking back ---- */

static bool is_meant(const struct grant *grant, const char *project, const char *word)
{
    char name[INBOX_GRANT_WORD_MAX], text[REQUEST_RULE_MAX];

    return is_of(grant, project) &&
           (!strcmp(inbox_grant_word(grant, name), word) || !strcmp(inbox_grant_text(grant, text), word));
}

/* Takes back the i-th: no longer there when its connections are judged again. */
static void take_back(struct daemon *daemon, size_t i)
{
    struct grant grant = daemon->inbox_grants->list[i];

    drop(daemon, i);
    ways_revoke(daemon, grant.project[0] ? grant.project : NULL, grant.id);
}

int inbox_grants_revoke(struct daemon *daemon, const char *project, const char *word, size_t *ret_count,
                        struct error **err)
{
    struct inbox_grants *grants = daemon->inbox_grants;
    const struct grant *now;
    size_t count = 0;

    inbox_grants_list(daemon, &now);
    for (size_t i = grants->count; i-- > 0;) {
        char name[INBOX_GRANT_WORD_MAX], text[REQUEST_RULE_MAX];

        if (!is_meant(&grants->list[i], project, word))
            continue;
        autofree char *subject =
            xasprintf("grant %s: %s (%s, of request #%llu)", inbox_grant_word(&grants->list[i], name),
                      inbox_grant_text(&grants->list[i], text), grant_scope_name(grants->list[i].scope),
                      (unsigned long long)grants->list[i].request_id);
        int rc = daemon_note(daemon, project, "policy.remove", subject, err);
        if (rc < 0)
            return rc;
        take_back(daemon, i);
        count++;
        if (i > grants->count) /* judging may drop what is over */
            i = grants->count;
    }
    *ret_count = count;
    return 0;
}

static void end_grants(struct daemon *daemon, const char *project, const char *session, bool all)
{
    struct inbox_grants *grants = daemon->inbox_grants;

    for (size_t i = grants->count; i-- > 0;) {
        const struct grant *grant = &grants->list[i];
        bool bound = grant->scope == SCOPE_ONCE || grant->scope == SCOPE_SESSION;
        if (strcmp(grant->project, project) != 0 ||
            (!all && !(bound && (!session || !strcmp(grant->session, session)))))
            continue;
        take_back(daemon, i);
        if (i > grants->count)
            i = grants->count;
    }
}

void inbox_grants_ended(struct daemon *daemon, const char *project, const char *session)
{
    end_grants(daemon, project, session, false);
}

void inbox_grants_forget(struct daemon *daemon, const char *project)
{
    end_grants(daemon, project, NULL, true);
}

/* ---- life ---- */

static void on_stored(const struct grant *grant, void *user)
{
    keep(user, grant);
}

int inbox_grants_create(struct daemon *daemon, struct error **err)
{
    daemon->inbox_grants = xnew(struct inbox_grants);
    return state_grants_load(daemon->state, on_stored, daemon->inbox_grants, err);
}

void inbox_grants_destroy(struct daemon *daemon)
{
    if (!daemon->inbox_grants)
        return;
    free(daemon->inbox_grants->list);
    free(steal(&daemon->inbox_grants));
}
