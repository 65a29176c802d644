/* remote.h: git-remote-hutch on the host, the remote helper of `hutch::PROJECT[/REPO]`. A fetch reads what
 * came out of the machine from its quarantine, with all of git's checks of objects; a push goes to hutchd,
 * which takes the commits and brings them in. The user's git never speaks to a machine. */
#ifndef HUTCH_CLI_REMOTE_H
#define HUTCH_CLI_REMOTE_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

#define REMOTE_PROGRAM "git-remote-hutch"

/* The whole program: git talks on stdin and stdout. Returns the exit status. */
int remote_main(int argc, char **argv);
/* One line for whoever made a project of a repository of his: how its remote is added. Nothing if he has one
 * already, or if git would not find the helper. project: as the API shows it. */
void remote_offer(const json_t *project);

#endif
