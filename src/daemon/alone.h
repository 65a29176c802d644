/* alone.h: work that exists in a machine and nowhere else: what every verb that deletes asks first. */
#ifndef HUTCH_DAEMON_ALONE_H
#define HUTCH_DAEMON_ALONE_H

#include "daemon/work.h"
#include "repo/known.h"

/* What a person has elsewhere of a repository of a project: its mirror, his own repository, and where it
 * landed. known_finish frees. [any thread] */
void alone_known(const struct daemon *daemon, const struct record *record, const struct repo_row *row,
                 struct known *ret_known);
/* Fetches what the machine has of a repository, looks at its work tree, and compares. 1: there is work that
 * exists nowhere else (what, in *ret_list, the caller's), 0: none. Below 0: nobody can say. The machine must
 * run. [job threads] */
int alone_find(struct work *work, const struct repo_row *row, char **ret_list, struct error **err);

#endif
