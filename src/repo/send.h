/* send.h: commits of a repository of the user's on their way into a machine, under names that he gives. They
 * are taken into sent.git of the quarantine first, which becomes an alternate of it: what he sent is no work
 * of the machine's. Blocking: job threads. */
#ifndef HUTCH_REPO_SEND_H
#define HUTCH_REPO_SEND_H

#include "repo/repo.h"

struct send {
    const char *quarantine, *mirror; /* mirror NULL: none */
    const char *from;                /* full path of the user's repository (its .git, or a bare one) */
    const char *commit;              /* hex; of a tag its object */
    const char *to;                  /* "refs/heads/mine/fix", "refs/tags/v1" */
    bool force;
    const atomic_bool *cancel;
};
/* Looks at names and ids. ERROR_INVALID. */
int send_check(const struct send *send, struct error **err);
/* Takes the commit, with the user's git. ERROR_NOT_FOUND: it is not there. */
int send_take(const struct send *send, struct error **err);
/* Pushes it through `fd` (a stream that speaks git-receive-pack) by the confined child hutch-git.
 * ERROR_STATE: git or the machine refuses it, in their words. */
int send_push(const struct paths *paths, const struct send *send, int fd, struct error **err);

#endif
