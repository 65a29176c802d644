/* tree.h: files, folders and links made below one folder's descriptor from names of a stranger. Each step
 * down is an openat that follows no link; files appear by temporary and rename, so that nothing is ever
 * written through what is already there. */
#ifndef HUTCH_CLI_TREE_H
#define HUTCH_CLI_TREE_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct tree;

/* folder stays the caller's. Paths of all calls are relative, "TOP/…", without empty parts, "." and "..". The
 * errors' messages do not name the path: the caller does. ERROR_DENIED and ERROR_EXISTS are conflicts of this
 * one entry; all else is the disk's. */
struct tree *tree_create(int folder);
/* Removes the temporary of an unfinished file. */
void tree_free(struct tree *tree);
AUTO_DEFINE(tree, struct tree *, tree_free);
/* A folder, with missing ones above; one that exists already stays as it is. The owner can always read and
 * enter it. */
int tree_folder(struct tree *tree, const char *path, mode_t mode, struct error **err);
/* A file in three steps; it has its name only after tree_file_end, and replaces an earlier file or link of
 * that name. Only the permission bits of mode count, under the process's umask. */
int tree_file_begin(struct tree *tree, const char *path, mode_t mode, struct error **err);
int tree_file_write(struct tree *tree, const void *data, size_t len, struct error **err);
int tree_file_end(struct tree *tree, struct error **err);
/* A symbolic link whose target stays below TOP: relative, ".." only in front. Else ERROR_DENIED. */
int tree_symlink(struct tree *tree, const char *path, const char *target, struct error **err);
/* A second name of a regular file in the tree. */
int tree_hard_link(struct tree *tree, const char *path, const char *target, struct error **err);

#endif
