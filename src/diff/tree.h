/* tree.h: the paths of folders of a volume, by their inodes: up by "..", and down again to see that it is
 * true. What a folder holds is remembered, so that each is read once. */
#ifndef HUTCH_DIFF_TREE_H
#define HUTCH_DIFF_TREE_H

#include "diff/volume.h"

struct tree;

struct tree *tree_create(struct volume *volume);
void tree_free(struct tree *tree);
AUTO_DEFINE(tree, struct tree *, tree_free);
/* Remembers the folders in a listing. */
void tree_learn(struct tree *tree, uint32_t folder, const struct listing *listing);
/* "/" or "/a/b"; caller frees. ERROR_CORRUPT: the folder is not in the one that it names, or they go round in
 * a circle; ERROR_LIMIT. */
int tree_path(struct tree *tree, uint32_t folder, char **ret_path, struct error **err);
/* A name in a folder's path; caller frees. */
char *tree_join(const char *folder, const char *name);

#endif
