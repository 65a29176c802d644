/* PUSH requests: what refs/guest/ has and refs/seen/ has not was never looked at. A request is put into the
 * inbox, its tip kept as refs/pushes/ID, and only then does refs/seen/ follow: whatever is killed in between,
 * the next fetch asks again under the same key. */
#include "base/alloc.h"
#include "base/log.h"
#include "daemon/git_out.h"
#include "daemon/inbox.h"
#include "repo/git.h"
#include "review/persistence.h"
#include "wire/json.h"

#include <string.h>

#define OWNER       "git"
#define VERB        "PUSH"
#define FIELDS_ROOM 4096 /* below APPROVAL_FIELDS_MAX */

/* One ref that was pushed. */
struct push {
    struct daemon *daemon;
    const char *id, *repo, *folder;
    const char *ref; /* "refs/heads/main" as the machine calls it */
    char *tip, *old; /* hex; old NULL: nothing was seen there */
    char *base;      /* hex: what was there before the request, or NULL */
    int64_t request; /* the open one; 0: none */
    size_t open;     /* that wait for review in this project */
    struct approval_ask ask;
    char boot[17];
};

static git_land_fn land_fn;

void git_out_set_land(git_land_fn land)
{
    land_fn = land;
}

static int apply(struct daemon *daemon, const struct approval_request *request, struct error **err)
{
    if (land_fn)
        return land_fn(daemon, request, err);
    error_set(err, ERROR_STATE, "request %lld is a push: it is landed, not allowed", (long long)request->id);
    return error_hint(err, "`hutch land` makes a branch of it in your repository");
}

static const struct inbox_owner owner = {.name = OWNER, .apply = apply};

void git_out_create(struct daemon *daemon)
{
    inbox_add_owner(daemon->inbox, &owner);
}

/* ---- on the loop, for the job ---- */

static char *make_key(const struct push *push)
{
    return xasprintf("%s %s", push->repo, push->ref);
}

static void find_on_loop(void *user)
{
    struct push *push = user;
    struct approval *approval = inbox_approval(push->daemon->inbox);
    const struct approval_request *list[GIT_PUSHES_MAX * 4];
    size_t count = approval_list(approval, list, countof(list));
    autofree char *key = make_key(push);
    const struct approval_request *open = approval_find_key(approval, push->id, VERB, key);
    struct project *project = projects_lock(push->daemon->projects, push->id);

    push->request = open ? open->id : 0;
    for (size_t i = 0; i < count; i++)
        push->open += !strcmp(list[i]->project, push->id) && !strcmp(list[i]->verb, VERB);
    if (project) {
        memcpy(push->boot, project->r.boot, sizeof(push->boot));
        projects_unlock(push->daemon->projects);
    }
}

static void put_on_loop(void *user)
{
    struct push *push = user;

    push->request = approval_put(inbox_approval(push->daemon->inbox), &push->ask);
}

/* ---- what is asked ---- */

/* One line of git in the quarantine, or NULL. Caller frees. */
static char *line_of(const char *folder, const char *a, const char *b, const char *c, const char *d,
                     const char *e)
{
    const char *args[] = {a, b, c, d, e, NULL};
    char *out = NULL;

    if (git_own(folder, args, NULL, &out, NULL) < 0)
        return NULL;
    out[strcspn(out, "\n")] = '\0';
    return out;
}

/* Nothing that the mirror has not, and nothing is taken back: it is no push that somebody must look at. */
static bool brings_nothing(const struct push *push)
{
    if (!strncmp(push->ref, "refs/tags/", 10)) {
        autofree char *mirror = git_out_mirror(push->folder);
        autofree char *theirs =
            mirror ? line_of(mirror, "rev-parse", "-q", "--verify", push->ref, NULL) : NULL;
        return theirs && !strcmp(theirs, push->tip);
    }
    if (push->old && !quarantine_contains(push->folder, push->tip, push->old))
        return false;
    autofree char *first =
        line_of(push->folder, "rev-list", "--max-count=1", push->tip, "--not", "--alternate-refs");
    return first && !*first;
}

/* The facts of a push, or what is known of one that cannot be read. New reference. */
static json_t *make_fields(const struct push *push)
{
    autofree char *spec = xasprintf("%s^{commit}", push->tip);
    autofree char *commit = line_of(push->folder, "rev-parse", "-q", "--verify", spec, NULL);
    auto(error) struct error *why = NULL;
    json_t *fields = NULL;
    bool tag = !strncmp(push->ref, "refs/tags/", 10);

    if (!commit || review_summary(push->folder, push->base, commit, &fields, &why) < 0) {
        autofree char *count =
            line_of(push->folder, "rev-list", "--count", push->tip, "--not", "--alternate-refs");
        fields = json_pack("{s:I, s:b, s:s}", "commits", count ? strtoll(count, NULL, 10) : 0LL, "forced",
                           push->base && !quarantine_contains(push->folder, push->tip, push->base), "unread",
                           why ? why->message : "it names no commit");
    }
    require(fields);
    json_object_set_new(fields, "repo", json_string(push->repo));
    json_object_set_new(fields, tag ? "tag" : "branch", json_string(strchr(push->ref + 5, '/') + 1));
    json_object_set_new(fields, "ref", json_string(push->ref));
    json_object_set_new(fields, "old", push->base ? json_string(push->base) : json_null());
    json_object_set_new(fields, "new", json_string(push->tip));
    if (commit) /* what a tag names: that is what lands */
        json_object_set_new(fields, "commit", json_string(commit));
    return fields;
}

/* Routine, unless something of it would run later on the host, takes back what was there, or cannot be read.
 */
static enum approval_tier tier_of(const json_t *fields)
{
    bool unusual = json_array_size(json_object_get(fields, "persistence")) ||
                   json_integer_value(json_object_get(fields, "persistence_more")) ||
                   json_is_true(json_object_get(fields, "forced")) ||
                   json_is_true(json_object_get(fields, "cut")) || json_object_get(fields, "unread");
    return unusual ? APPROVAL_UNUSUAL : APPROVAL_ROUTINE;
}

/* As text that fits: a long persistence list is cut, and says how much. Caller frees. */
static char *fields_text(json_t *fields)
{
    json_t *list = json_object_get(fields, "persistence");
    char *text = json_dumps(fields, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS);

    while (strlen(text) > APPROVAL_FIELDS_MAX - FIELDS_ROOM && json_array_size(list)) {
        json_int_t more = json_integer_value(json_object_get(fields, "persistence_more"));
        size_t drop = json_array_size(list) / 4 + 1;
        for (size_t i = 0; i < drop; i++)
            json_array_remove(list, json_array_size(list) - 1);
        json_object_set_new(fields, "persistence_more", json_integer(more + (json_int_t)drop));
        free(text);
        text = json_dumps(fields, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS);
    }
    return text;
}

static char *make_subject(const json_t *fields, const char *repo)
{
    long long n = (long long)json_integer_value(json_object_get(fields, "commits"));
    const char *tag = json_string_value(json_object_get(fields, "tag"));
    const char *branch = json_string_value(json_object_get(fields, "branch"));

    return xasprintf("%s %s%s, %lld commit%s%s", repo, tag ? "tag " : "", tag ? tag : branch, n,
                     n == 1 ? "" : "s", json_is_true(json_object_get(fields, "forced")) ? ", forced" : "");
}

/* ---- asking ---- */

/* Puts it into the inbox and keeps its refs. *ret_words: why it is not there (static), or NULL. */
static int ask(struct push *push, const char **ret_words, struct error **err)
{
    post_wait(push->daemon->posts, find_on_loop, push);
    if (!push->request && push->open >= GIT_PUSHES_MAX) {
        *ret_words = "too many pushes wait for review; it is asked when some are answered";
        return 0;
    }
    autofree char *kept = xasprintf("refs/pushes/%lld-base", (long long)push->request);
    if (push->request)
        push->base = line_of(push->folder, "rev-parse", "-q", "--verify", kept, NULL);
    else
        push->base = xstrdup(push->old);
    auto(json) json_t *fields = make_fields(push);
    autofree char *text = fields_text(fields), *key = make_key(push),
                  *subject = make_subject(fields, push->repo);
    push->ask = (struct approval_ask){.project = push->id,
                                      .boot = push->boot,
                                      .session = "",
                                      .verb = VERB,
                                      .key = key,
                                      .subject = subject,
                                      .fields = text,
                                      .owner = OWNER,
                                      .tier = tier_of(fields),
                                      .scopes = 1u << APPROVAL_ONCE};
    post_wait(push->daemon->posts, put_on_loop, push);
    if (!push->request)
        return error_set(err, ERROR_IO, "the request of a push could not be written down");
    autofree char *tip = xasprintf("refs/pushes/%lld", (long long)push->request),
                  *base = xasprintf("refs/pushes/%lld-base", (long long)push->request);
    const struct quarantine_update updates[] = {{tip, push->tip}, {base, push->base}};
    return quarantine_update(push->folder, updates, push->base ? 2 : 1, err);
}

static int file_one(struct push *push, json_t *pushes, struct error **err)
{
    autofree char *seen = xasprintf("refs/seen/%s", push->ref + 5);
    const char *words = NULL;
    int rc = 0;

    if (brings_nothing(push))
        words = "there is nothing new in it";
    else
        rc = ask(push, &words, err);
    if (rc == 0 && (push->request || !push->open)) {
        const struct quarantine_update update = {seen, push->tip};
        rc = quarantine_update(push->folder, &update, 1, err);
    }
    if (rc < 0)
        return rc;
    json_t *row = json_pack("{s:s, s:I}", "ref", push->ref, "request", (json_int_t)push->request);
    if (words)
        json_object_set_new(row, "words", json_string(words));
    json_array_append_new(pushes, row);
    return 0;
}

int git_push_file(struct daemon *daemon, const char *id, const char *repo, const char *folder, json_t *pushes,
                  struct error **err)
{
    struct quarantine_ref *guest = NULL, *seen = NULL;
    size_t guest_count = 0, seen_count = 0;
    int rc = quarantine_refs(folder, "refs/guest/", &guest, &guest_count, err);

    if (rc == 0)
        rc = quarantine_refs(folder, "refs/seen/", &seen, &seen_count, err);
    for (size_t i = 0; i < guest_count && rc == 0; i++) {
        autofree char *ref = xasprintf("refs/%s", guest[i].name + strlen("refs/guest/"));
        struct push push = {
            .daemon = daemon, .id = id, .repo = repo, .folder = folder, .ref = ref, .tip = guest[i].commit};
        for (size_t j = 0; j < seen_count; j++)
            if (!strcmp(seen[j].name + strlen("refs/seen/"), ref + 5))
                push.old = seen[j].commit;
        if (push.old && !strcmp(push.old, push.tip))
            continue;
        rc = file_one(&push, pushes, err);
        free(push.base);
    }
    quarantine_free_refs(guest, guest_count);
    quarantine_free_refs(seen, seen_count);
    return rc;
}
