/* sweep.h: removes the trees of builds, whose files may have ids that only a user namespace can delete. */
#ifndef HUTCH_IMAGE_SWEEP_H
#define HUTCH_IMAGE_SWEEP_H

#include "base/error.h"
#include "image/host.h"

#include <stdio.h>

/* A build's own folder in data/bases begins so. */
#define SWEEP_PREFIX ".build-"

/* Removes a tree, in the namespaces of a build; nothing to do if it is not there. log may be NULL. */
int sweep_tree(const struct host *host, const char *const *env, FILE *log, const char *path,
               struct error **err);
/* Removes what killed builds left in this folder; the caller holds its lock, so that no build runs. before
 * (may be NULL) is called for each. */
int sweep_folder(const struct host *host, const char *const *env, FILE *log, const char *folder,
                 void (*before)(void *user), void *user, struct error **err);

#endif
