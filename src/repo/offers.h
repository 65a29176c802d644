/* offers.h: the refs that a machine has, in the order of the names that they get in the quarantine. Private
 * to src/repo. */
#ifndef HUTCH_REPO_OFFERS_H
#define HUTCH_REPO_OFFERS_H

#include <stdbool.h>
#include <stddef.h>

struct offered {
    char *theirs, *ours; /* names there and in the quarantine */
    char *commit;
    char *old;   /* hex in the quarantine, or NULL */
    bool wanted; /* it is another than old */
    bool taken;  /* its objects are here */
    bool placed; /* in the transaction that changes the refs */
};
void offered_finish(struct offered *offered);
bool offered_is_taken(const struct offered *offered);
/* It is there when the fetch has ended. */
bool offered_is_kept(const struct offered *offered);

/* Sorts by `ours`, which all others expect. */
void offers_sort(struct offered *list, size_t count);
/* The one of a name, or NULL. */
const struct offered *offers_find(const struct offered *list, size_t count, const char *ours);
/* "a" and "a/b" cannot both be there: whether one that `counts` has a name above or below this one. */
bool offers_collide(const struct offered *list, size_t count, const char *ours,
                    bool (*counts)(const struct offered *offered));

#endif
