/* place.h: where hutch-guest's own files are. In a machine: /run/hutch and /var/lib/hutch. With --ports DIR
 * (tests, a host without a VM): everything under DIR, and nothing of the system is changed. */
#ifndef HUTCH_GUEST_PLACE_H
#define HUTCH_GUEST_PLACE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

#define PLACE_RUN     "/run/hutch"
#define PLACE_STATE   "/var/lib/hutch"
#define PLACE_PROGRAM "/run/hutch/bin/hutch-guest"

struct place {
    bool machine;   /* we are the agent of a machine: its clock, name and power are ours to set */
    char *run;      /* PLACE_RUN, or DIR */
    char *sessions; /* run/sessions, 0700 */
    char *bin;      /* run/bin: git-remote-hutch; part of every session's PATH */
    char *state;    /* PLACE_STATE, or the environment's HUTCH_GUEST_STATE, else DIR/state */
    char *git;      /* state/git: the bare repositories */
    char *root; /* where /etc is: "" in a machine, --root DIR in a test, NULL: nowhere, identity is refused */
    char *program; /* the running binary */
};

/* ports: NULL in a machine. root: NULL or the folder that stands for / in identity calls of a test. */
void place_init(struct place *place, const char *ports, const char *root);
void place_finish(struct place *place);
/* Creates run, sessions (0700) and bin with its git-remote-hutch link. */
int place_create(const struct place *place, struct error **err);
/* Puts the git-remote-hutch link into /usr/local/bin if there is none and the root can be written; silent
 * otherwise. */
void place_link_helper(const struct place *place);
/* State folder as a child sees it: HUTCH_GUEST_STATE or PLACE_STATE. */
const char *place_state_from_environment(void);
/* Full path of the bare repository NAME below a state folder; caller frees. ERROR_INVALID for a bad name:
 * letters, digits, . _ and -, at most 100, no leading dot or dash. */
int place_repository(const char *git_folder, const char *name, char **ret_path, struct error **err);

#endif
