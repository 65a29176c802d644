/* changes.h: which files differ between two trees, by reading the trees alone: modes as they are stored,
 * renames, no content. Private to src/review. */
#ifndef HUTCH_REVIEW_CHANGES_H
#define HUTCH_REVIEW_CHANGES_H

#include "review/objects.h"

#include <stdint.h>

/* Limits of one comparison; the first that is met sets "cut". */
#define CHANGES_MAX         100000  /* files */
#define CHANGES_ENTRIES_MAX 4000000 /* entries looked at */
#define CHANGES_DEPTH_MAX   256     /* folders in folders */
#define CHANGES_PATH_MAX    4096    /* bytes of a path; longer ones are cut off with their folder */

struct change {
    char status;                 /* A added, M changed, D deleted, T another kind, R renamed, C mode alone */
    char *path;                  /* bytes as git has them */
    char *old_path;              /* of a rename, else NULL */
    uint32_t old_mode, new_mode; /* 0: not there */
    git_oid old_id, new_id;
    bool picked; /* by pick.c, once */
};
struct changes {
    struct change *items; /* in git's order of paths */
    size_t count, room;
    size_t entries;
    bool cut;
};
/* Compares; NULL is the empty tree. What a folder has below it is looked at only if its id differs. */
int changes_find(struct objects *objects, git_tree *before, git_tree *after, struct changes *ret_changes,
                 struct error **err);
/* Makes one R of an A and a D with the same content, and, when they are few, with similar content. */
void changes_pair_renames(struct objects *objects, struct changes *changes);
void changes_finish(struct changes *changes);

/* Kinds of a mode. */
static inline bool mode_is_link(uint32_t mode)
{
    return (mode & 0170000) == 0120000;
}
static inline bool mode_is_module(uint32_t mode)
{
    return (mode & 0170000) == 0160000;
}
static inline bool mode_is_file(uint32_t mode)
{
    return (mode & 0170000) == 0100000;
}
static inline bool mode_runs(uint32_t mode)
{
    return mode_is_file(mode) && (mode & 0111);
}

#endif
