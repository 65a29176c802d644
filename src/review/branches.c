#include "review/review.h"

#include "base/alloc.h"
#include "base/text.h"
#include "review/range.h"
#include "review/shown.h"

#include <string.h>

#define COUNTED_MAX 200 /* branches whose own commits are counted */
#define NAMES_SHOWN 8
#define REFS_MAX    1000000 /* looked at; the lists that are shown are shorter */

/* Where refs lie, in the order of the list and of a search by name. */
static const struct place {
    const char *prefix, *kind, *shown; /* shown: before the rest of the ref */
} places[] = {
    {"refs/guest/heads/", "branch", ""},     {"refs/work/heads/", "work", ""},
    {"refs/guest/tags/", "tag", ""},         {"refs/work/uncommitted", "uncommitted", "uncommitted"},
    {"refs/work/stash/", "stash", "stash/"}, {"refs/pushes/", "push", "#"},
    {"refs/lost/", "lost", "lost/"},
};

struct found {
    const struct place *place;
    char *ref, *name; /* name: as it is shown, safe */
    git_oid id;
};
struct found_list {
    struct found *items;
    size_t count, room;
};

static void found_finish(struct found_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].ref);
        free(list->items[i].name);
    }
    free(list->items);
}

/* The place of a ref; NULL for one that is not shown. */
static const struct place *place_of(const char *ref)
{
    size_t len = strlen(ref);

    if (!strncmp(ref, "refs/pushes/", 12) && len > 5 && !strcmp(ref + len - 5, "-base"))
        return NULL;
    for (size_t i = 0; i < countof(places); i++)
        if (!strncmp(ref, places[i].prefix, strlen(places[i].prefix)))
            return &places[i];
    return NULL;
}

static int compare_found(const void *a, const void *b)
{
    const struct found *left = a;
    const struct found *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return strcmp(left->ref, right->ref);
}

static void add(struct found_list *list, const char *ref, const git_oid *id)
{
    const struct place *place = place_of(ref);

    if (!place || list->count >= REFS_MAX)
        return;
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 32;
        list->items = xrealloc(list->items, list->room, sizeof(*list->items));
    }
    autofree char *shown = xasprintf("%s%s", place->shown, ref + strlen(place->prefix));
    list->items[list->count++] =
        (struct found){.place = place, .ref = xstrdup(ref), .name = text_safe(shown), .id = *id};
}

/* Only the refs are read through a repository that knows its folder; hutch itself made its configuration. */
static int read_refs(const char *quarantine, struct found_list *list, struct error **err)
{
    auto(git_repository) git_repository *repo = NULL;
    git_reference_iterator *refs = NULL;
    git_reference *ref = NULL;

    int rc = git_repository_open_ext(
        &repo, quarantine,
        GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_BARE | GIT_REPOSITORY_OPEN_NO_DOTGIT, NULL);
    if (rc == 0)
        rc = git_reference_iterator_new(&refs, repo);
    if (rc < 0)
        return objects_error(err, rc, "cannot read the refs of '%s'", quarantine);
    while (git_reference_next(&ref, refs) == 0) {
        const git_oid *id = git_reference_target(ref);
        if (id)
            add(list, git_reference_name(ref), id);
        git_reference_free(ref);
    }
    git_reference_iterator_free(refs);
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_found);
    return 0;
}

/* A ref whose commit cannot be read: it is there, with the reason. */
static json_t *show_unread(const struct found *found, const struct error *why)
{
    char hex[GIT_OID_HEXSZ + 1];

    git_oid_tostr(hex, sizeof(hex), &found->id);
    return json_pack("{s:o, s:s, s:s, s:s, s:n, s:i, s:s, s:s, s:o}", "ref", shown(found->ref, SHOWN_PATH),
                     "name", found->name, "kind", found->place->kind, "commit", hex, "commits", "time", 0,
                     "subject", "", "author", "", "unread", shown(why->message, SHOWN_SUBJECT));
}

/* One row. */
static json_t *show(struct objects *objects, const struct found *found, bool counted)
{
    auto(git_commit) git_commit *commit = NULL;
    auto(error) struct error *why = NULL;
    struct range range = {0};
    char hex[GIT_OID_HEXSZ + 1];
    json_t *commits = json_null();

    if (objects_commit(objects, &found->id, &commit, &why) < 0)
        return show_unread(found, why);
    git_oid_tostr(hex, sizeof(hex), git_commit_id(commit));
    if (counted && range_find(objects, hex, NULL, &range, NULL) == 0)
        commits = json_integer((json_int_t)range.count);
    range_finish(&range);
    const git_signature *author = git_commit_author(commit);
    return json_pack("{s:o, s:s, s:s, s:s, s:o, s:I, s:o, s:o}", "ref", shown(found->ref, SHOWN_PATH), "name",
                     found->name, "kind", found->place->kind, "commit", hex, "commits", commits, "time",
                     (json_int_t)git_commit_time(commit), "subject",
                     shown(git_commit_summary(commit), SHOWN_SUBJECT), "author",
                     shown(author ? author->name : "", SHOWN_NAME));
}

int review_branches(const char *quarantine, json_t **ret, struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    struct found_list list = {0};

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = read_refs(quarantine, &list, err);
    if (rc == 0) {
        json_t *rows = json_array();
        for (size_t i = 0; i < list.count && i < REVIEW_BRANCHES_MAX; i++)
            json_array_append_new(rows, show(objects, &list.items[i], i < COUNTED_MAX));
        *ret = rows;
    }
    found_finish(&list);
    return rc;
}

/* The names that there are, for an error. */
static char *names_of(const struct found_list *list)
{
    char *names = xstrdup("");
    for (size_t i = 0; i < list->count && i < NAMES_SHOWN; i++) {
        char *more = xasprintf("%s%s%s", names, i ? ", " : "", list->items[i].name);
        free(names);
        names = more;
    }
    return names;
}

/* The only branch with commits that the mirror has not. */
static const struct found *only_one(struct objects *objects, const struct found_list *list,
                                    struct error **err)
{
    const struct found *one = NULL;
    size_t n = 0;

    for (size_t i = 0; i < list->count && i < COUNTED_MAX; i++) {
        struct range range = {0};
        char hex[GIT_OID_HEXSZ + 1];
        if (list->items[i].place != &places[0])
            continue;
        git_oid_tostr(hex, sizeof(hex), &list->items[i].id);
        if (range_find(objects, hex, NULL, &range, NULL) == 0 && range.count > 0 && n++ == 0)
            one = &list->items[i];
        range_finish(&range);
    }
    if (n == 1)
        return one;
    autofree char *names = names_of(list);
    if (n == 0)
        error_set(err, ERROR_NOT_FOUND, "no branch was pushed in the machine that your remote has not");
    else
        error_set(err, ERROR_USAGE, "%zu branches were pushed: name one (%s)", n, names);
    if (err && *err)
        error_hint(err, "`hutch git ls` lists what came out of the machine");
    return NULL;
}

static const struct found *by_name(const struct found_list *list, const char *name, struct error **err)
{
    /* a full ref means that one: a machine may have a branch that is called like it */
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].ref, name))
            return &list->items[i];
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].name, name))
            return &list->items[i];
    autofree char *names = names_of(list);
    if (list->count)
        error_set(err, ERROR_NOT_FOUND,
                  "nothing is called '%.200s' in what came out of the machine (there is: %s)", name, names);
    else
        error_set(err, ERROR_NOT_FOUND, "nothing has come out of the machine yet");
    if (err && *err)
        error_hint(err, "`hutch git fetch` fetches what its work tree has");
    return NULL;
}

int review_find(const char *quarantine, const char *name, char **ret_name, char **ret_ref,
                char ret_hex[REVIEW_HEX_SIZE], struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    auto(git_commit) git_commit *commit = NULL;
    struct found_list list = {0};
    const struct found *found = NULL;
    git_oid id;

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = read_refs(quarantine, &list, err);
    bool is_id = rc == 0 && name && strlen(name) == GIT_OID_HEXSZ && objects_id(name, &id, NULL) == 0;
    if (rc == 0 && !is_id) {
        struct error *why = NULL;
        found = name ? by_name(&list, name, &why) : only_one(objects, &list, &why);
        if (found)
            id = found->id;
        else
            rc = error_move(err, &why);
    }
    if (rc == 0)
        rc = objects_commit(objects, &id, &commit, err);
    if (rc == 0) {
        git_oid_tostr(ret_hex, REVIEW_HEX_SIZE, git_commit_id(commit));
        *ret_name = xstrdup(found ? found->name : ret_hex);
        *ret_ref = xstrdup(found ? found->ref : "");
    }
    found_finish(&list);
    return rc;
}

static json_t *person(json_t *row, const char *name_key, const char *mail_key, const git_signature *who)
{
    json_object_set_new(row, name_key, shown(who ? who->name : "", SHOWN_NAME));
    json_object_set_new(row, mail_key, shown(who ? who->email : "", SHOWN_NAME));
    return row;
}

static json_t *show_commit(git_commit *commit)
{
    char hex[GIT_OID_HEXSZ + 1];
    struct text body;
    const char *words = git_commit_body(commit);

    git_oid_tostr(hex, sizeof(hex), git_commit_id(commit));
    text_init(&body, words ? words : "", words ? strlen(words) : 0, 16384, TEXT_KEEP_NEWLINES);
    json_t *row =
        json_pack("{s:s, s:o, s:s, s:I, s:I}", "id", hex, "subject",
                  shown(git_commit_summary(commit), SHOWN_SUBJECT), "body", body.bytes, "time",
                  (json_int_t)git_commit_time(commit), "parents", (json_int_t)git_commit_parentcount(commit));
    text_finish(&body);
    person(row, "author", "mail", git_commit_author(commit));
    return person(row, "committer", "committer_mail", git_commit_committer(commit));
}

int review_log(const char *quarantine, const char *tip_hex, size_t max, json_t **ret, struct error **err)
{
    auto(objects) struct objects *objects = NULL;
    struct range range = {0};
    json_t *commits = json_array();
    char base[GIT_OID_HEXSZ + 1];

    int rc = objects_open(quarantine, &objects, err);
    if (rc == 0)
        rc = range_find(objects, tip_hex, NULL, &range, err);
    size_t shown = max < REVIEW_LOG_MAX ? max : REVIEW_LOG_MAX;
    for (size_t i = 0; rc == 0 && i < range.count && i < shown; i++) {
        auto(git_commit) git_commit *commit = NULL;
        rc = objects_commit(objects, &range.commits[i], &commit, err);
        if (rc == 0)
            json_array_append_new(commits, show_commit(commit));
    }
    if (rc == 0) {
        git_oid_tostr(base, sizeof(base), &range.base);
        *ret = json_pack("{s:s?, s:b, s:O}", "base", range.has_base ? base : NULL, "more",
                         range.cut || range.count > shown, "commits", commits);
    }
    json_decref(commits);
    range_finish(&range);
    return rc;
}
