/* objects.h: a quarantine's objects through libgit2, and nothing else of it: no configuration, hooks,
 * filters, attributes or index are there to be used, because the repository that libgit2 sees has no folder.
 * Private to src/review. */
#ifndef HUTCH_REVIEW_OBJECTS_H
#define HUTCH_REVIEW_OBJECTS_H

#include "base/error.h"

#include <git2.h>
#include <stdbool.h>

/* Limits of what is read of one object. */
#define REVIEW_TREE_MAX   (32u << 20)
#define REVIEW_COMMIT_MAX (1u << 20)
#define REVIEW_BLOB_MAX   (16u << 20)

struct objects {
    char *folder;
    git_odb *odb;
    git_repository *repo; /* over odb, without a folder */
};
/* Opens the objects of a bare repository. ERROR_NOT_FOUND, ERROR_CORRUPT. */
int objects_open(const char *folder, struct objects **ret_objects, struct error **err);
void objects_close(struct objects *objects);
AUTO_DEFINE(objects, struct objects *, objects_close);

/* Turns libgit2's last error into ours, with what was tried in front. Returns the code. */
int objects_error(struct error **err, int rc, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Reads 40 hex digits; ERROR_MISSING for the 64 of a sha256 name. */
int objects_id(const char *hex, git_oid *ret_id, struct error **err);
/* The commit that an id names (a tag is followed). ERROR_NOT_FOUND, ERROR_INVALID for another object,
 * ERROR_LIMIT for a commit over REVIEW_COMMIT_MAX. */
int objects_commit(struct objects *objects, const git_oid *id, git_commit **ret_commit, struct error **err);
/* The tree or blob of an id, whose size is looked at before it is read: ERROR_LIMIT. */
int objects_tree(struct objects *objects, const git_oid *id, git_tree **ret_tree, struct error **err);
int objects_blob(struct objects *objects, const git_oid *id, size_t max, git_odb_object **ret_blob,
                 struct error **err);
/* Size of a blob without reading it; -1 when it is not there or no blob. */
int64_t objects_blob_size(struct objects *objects, const git_oid *id);
/* Calls fn for each commit that a ref of the repository's alternates (the mirror) names, until it returns
 * other than 0. A repository without alternates has none. */
int objects_each_known(struct objects *objects, int (*fn)(const git_oid *id, void *user), void *user,
                       struct error **err);

AUTO_DEFINE(git_commit, git_commit *, git_commit_free);
AUTO_DEFINE(git_tree, git_tree *, git_tree_free);
AUTO_DEFINE(git_object, git_object *, git_object_free);
AUTO_DEFINE(git_blob, git_odb_object *, git_odb_object_free);
AUTO_DEFINE(git_walk, git_revwalk *, git_revwalk_free);
AUTO_DEFINE(git_patch, git_patch *, git_patch_free);
AUTO_DEFINE(git_repository, git_repository *, git_repository_free);

#endif
