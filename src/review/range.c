#include "review/range.h"

#include "base/alloc.h"

#include <string.h>

#define EDGES_MAX 64

static int hide_one(const git_oid *id, void *user)
{
    /* a ref whose history is not whole hides what it can */
    if (git_revwalk_hide(user, id) < 0)
        git_error_clear();
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    return git_oid_cmp(a, b);
}

bool range_contains(struct objects *objects, const git_oid *descendant, const git_oid *ancestor)
{
    return git_oid_equal(descendant, ancestor) ||
           git_graph_descendant_of(objects->repo, descendant, ancestor) == 1;
}

/* Takes the commits off the walk. */
static int collect(git_revwalk *walk, struct range *range, struct error **err)
{
    size_t room = 0;
    git_oid id;
    int rc;

    while ((rc = git_revwalk_next(&id, walk)) == 0) {
        if (range->count == RANGE_COMMITS_MAX) {
            range->cut = true;
            return 0;
        }
        if (range->count == room) {
            room = room ? room * 2 : 64;
            range->commits = xrealloc(range->commits, room, sizeof(git_oid));
        }
        range->commits[range->count++] = id;
    }
    return rc == GIT_ITEROVER ? 0 : objects_error(err, rc, "cannot walk the history");
}

/* Prefers the edge that has the other in its history, then the newer one. */
static bool is_better(struct objects *objects, const git_oid *edge, const git_oid *than)
{
    if (range_contains(objects, edge, than))
        return true;
    if (range_contains(objects, than, edge))
        return false;
    auto(git_commit) git_commit *a = NULL;
    auto(git_commit) git_commit *b = NULL;
    return git_commit_lookup(&a, objects->repo, edge) == 0 &&
           git_commit_lookup(&b, objects->repo, than) == 0 && git_commit_time(a) > git_commit_time(b);
}

/* The known parents of unknown commits are the edges of what is known; the best of them is the base. */
static int find_base(struct objects *objects, struct range *range, struct error **err)
{
    git_oid edges[EDGES_MAX];
    size_t edge_count = 0;
    int rc = 0;

    if (range->count == 0) {
        range->base = range->tip;
        range->has_base = true;
        return 0;
    }
    git_oid *sorted = xmemdup(range->commits, range->count * sizeof(git_oid));
    qsort(sorted, range->count, sizeof(git_oid), compare_ids);
    for (size_t i = 0; rc == 0 && i < range->count && edge_count < EDGES_MAX; i++) {
        auto(git_commit) git_commit *commit = NULL;
        rc = objects_commit(objects, &range->commits[i], &commit, err);
        for (unsigned p = 0; rc == 0 && p < git_commit_parentcount(commit) && edge_count < EDGES_MAX; p++) {
            const git_oid *parent = git_commit_parent_id(commit, p);
            bool seen = bsearch(parent, sorted, range->count, sizeof(git_oid), compare_ids) != NULL;
            for (size_t e = 0; e < edge_count; e++)
                seen |= git_oid_equal(parent, &edges[e]) != 0;
            if (!seen)
                edges[edge_count++] = *parent;
        }
    }
    free(sorted);
    for (size_t e = 0; rc == 0 && e < edge_count; e++)
        if (!range->has_base || is_better(objects, &edges[e], &range->base)) {
            range->base = edges[e];
            range->has_base = true;
        }
    return rc;
}

int range_find(struct objects *objects, const char *tip_hex, const char *also, struct range *ret_range,
               struct error **err)
{
    auto(git_walk) git_revwalk *walk = NULL;
    auto(git_commit) git_commit *tip = NULL;
    struct range range = {0};
    git_oid id;
    git_oid known;

    int rc = objects_id(tip_hex, &id, err);
    if (rc == 0 && also)
        rc = objects_id(also, &known, err);
    if (rc == 0)
        rc = objects_commit(objects, &id, &tip, err);
    if (rc < 0)
        return rc;
    range.tip = *git_commit_id(tip);
    rc = git_revwalk_new(&walk, objects->repo);
    if (rc == 0)
        rc = git_revwalk_sorting(walk, GIT_SORT_TOPOLOGICAL | GIT_SORT_TIME);
    if (rc == 0)
        rc = git_revwalk_push(walk, &range.tip);
    if (rc < 0)
        return objects_error(err, rc, "cannot walk the history of %s", tip_hex);
    rc = objects_each_known(objects, hide_one, walk, err);
    if (rc == 0 && also)
        hide_one(&known, walk);
    if (rc == 0)
        rc = collect(walk, &range, err);
    if (rc == 0)
        rc = find_base(objects, &range, err);
    if (rc < 0)
        range_finish(&range);
    else
        *ret_range = range;
    return rc;
}

void range_finish(struct range *range)
{
    free(range->commits);
    memset(range, 0, sizeof(*range));
}
