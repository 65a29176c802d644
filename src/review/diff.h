/* diff.h: the two trees that a review compares, and the lines of one file. Private to src/review. */
#ifndef HUTCH_REVIEW_DIFF_H
#define HUTCH_REVIEW_DIFF_H

#include "review/changes.h"
#include "review/range.h"

/* A change by its path as it is shown. */
struct shown_change {
    char *path;
    struct change *change;
};
/* The commits and what differs between their trees. */
struct comparison {
    struct range range;
    struct changes changes;
    struct shown_change *shown; /* the changes by their paths as they are shown; made when needed */
};
/* Against the base of range.h, with renames. */
int comparison_make(struct objects *objects, const char *tip_hex, struct comparison *ret, struct error **err);
/* Against the first parent of the commit instead; against nothing if it has none. */
int comparison_make_alone(struct objects *objects, const char *hex, struct comparison *ret,
                          struct error **err);
void comparison_finish(struct comparison *comparison);
/* The change at a path as it is shown. ERROR_NOT_FOUND; ERROR_INVALID when more than one is shown like it. */
int comparison_find(struct comparison *comparison, const char *path, struct change **ret_change,
                    struct error **err);

/* Compares the contents of a file or link; what is no text or over REVIEW_BLOB_MAX is a patch without hunks.
 * Nothing but the two contents has a say. The blobs live as long as the patch. */
struct content {
    git_odb_object *before, *after;
    git_patch *patch; /* NULL: a submodule, or too large */
    bool binary, too_large;
};
int content_compare(struct objects *objects, const struct change *change, unsigned context,
                    struct content *ret, struct error **err);
void content_finish(struct content *content);

#endif
