/* range.h: which commits a branch has that the user's remote has not, and where it left what is known.
 * Private to src/review. */
#ifndef HUTCH_REVIEW_RANGE_H
#define HUTCH_REVIEW_RANGE_H

#include "review/objects.h"

/* Most commits of one branch that are walked; more set "cut". */
#define RANGE_COMMITS_MAX 100000

struct range {
    git_oid tip;
    git_oid base; /* newest known commit that the tip builds on */
    bool has_base;
    git_oid *commits; /* of the tip and not known, newest first */
    size_t count;
    bool cut;
};
/* What is known: the refs of the mirror, and `also` (hex) if not NULL. */
int range_find(struct objects *objects, const char *tip_hex, const char *also, struct range *ret_range,
               struct error **err);
void range_finish(struct range *range);
/* Whether `descendant` has `ancestor` in its history or is it. */
bool range_contains(struct objects *objects, const git_oid *descendant, const git_oid *ancestor);

#endif
