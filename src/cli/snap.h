/* snap.h: a snapshot as a person names it: "[NAME]@12". */
#ifndef HUTCH_CLI_SNAP_H
#define HUTCH_CLI_SNAP_H

#include "client/client.h"

/* The project (NULL: that of this folder) and the snapshot of a word; *ret_snap is "@12", NULL if the word
 * has none. ERROR_USAGE. Callers free both. */
int snap_split(const char *word, char **ret_name, char **ret_snap, struct error **err);
/* The error for a word without one: ERROR_USAGE. name may be NULL. */
int snap_missing(const char *name, struct error **err);
/* The API's path of a snapshot, with a suffix. word must name one. Caller frees. */
int snap_path(struct client *client, const char *word, const char *suffix, char **ret_path,
              struct error **err);

#endif
