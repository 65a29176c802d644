/* git.h: what the verbs of git share: which project, repository and branch is meant. */
#ifndef HUTCH_CLI_GIT_H
#define HUTCH_CLI_GIT_H

#include "cli/args.h"
#include "client/client.h"

struct git_place {
    struct client *client;
    char *project;
    const char *branch; /* of args; NULL: the only one */
    const char *repo;   /* --repo, or NULL */
};
/* Connects and reads [NAME] [BRANCH]: a single word is a project if there is one of that name, else a branch
 * of this folder's. */
int git_place_find(const struct args *args, struct git_place *ret_place, struct error **err);
void git_place_finish(struct git_place *place);
/* The path of a route of it, "/git/diff", with repo and branch in its query; more: "&path=x" or "". Caller
 * frees.
 */
char *git_place_path(const struct git_place *place, const char *route, const char *more);

#define GIT_OPTION_REPO                                                                                      \
    {                                                                                                        \
        "repo", 0, "REPO", N_("which repository, if the project has more than one")                          \
    }

#endif
