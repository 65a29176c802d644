/* changes_internal.h: what the parts of a comparison share. */
#ifndef HUTCH_DIFF_CHANGES_INTERNAL_H
#define HUTCH_DIFF_CHANGES_INTERNAL_H

#include "diff/changes.h"
#include "diff/tree.h"

#define PAIRS_MAX 8000000 /* inodes that differ */

/* An inode that differs. */
struct pair {
    uint32_t inode;
    bool old_folder, new_folder; /* it is one on that side */
    bool old, new;               /* it is in use on that side */
    bool same;                   /* the same object on both sides, not a number that was used again */
    bool visible;                /* more than its time of reading, or its entries, is different */
    uint32_t missing;            /* names of it on the new side that were not met yet */
};
struct finding {
    struct volume *a, *b;
    struct tree *tree_a, *tree_b;
    struct pair *pairs; /* by inode */
    size_t count, room;
    struct changes changes;
    size_t items_room;
};

/* Fills pairs. */
int pairs_find(struct finding *finding, const struct difference *where, struct error **err);
struct pair *pair_find(const struct finding *finding, uint32_t inode);
/* Looks for the names of files that changed in folders that did not. */
int names_find(struct finding *finding, struct error **err);
/* Adds a change; path and from become its own. Inodes of 0: not on that side. */
int finding_add(struct finding *finding, enum change_kind kind, char *path, uint32_t old, uint32_t new,
                struct error **err);

#endif
