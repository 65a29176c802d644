/* project.h: which project a command means, and the API paths of it. */
#ifndef HUTCH_CLI_PROJECT_H
#define HUTCH_CLI_PROJECT_H

#include "base/words.h"
#include "cli/args.h"
#include "client/client.h"

/* The project's name: the one given, else that of this folder or of its nearest parent. ERROR_NOT_FOUND says
 * how to name one or make one. Caller frees. */
int project_name(struct client *client, const char *given, char **ret_name, struct error **err);
/* "/v1/projects/NAME" + a printf suffix whose variable parts are already encoded. Caller frees. */
char *project_path(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A machine that stands still for a request goes on, without an answer; what was held is refused with its
 * number. Nothing if it does not. */
int project_thaw(struct client *client, const char *name, struct error **err);
/* For verbs whose first word may be a project: connects, and finds it by word 0 if there are more words than
 * the verb needs, else by this folder. The path with its (encoded) suffix; the caller frees. */
int project_begin(const struct args *args, size_t needs, const char *suffix, struct client **ret_client,
                  char **ret_path, struct error **err);
/* For verbs that take one thing, named by the last word, out of a project's "rules", "host-ports", ….
 * query: "" or "?…". */
int project_delete_part(const struct args *args, const char *collection, const char *query,
                        struct error **err);
/* The project as GET gives it. */
int project_show(struct client *client, const char *name, json_t **ret_project, struct error **err);
/* The line that an emulated machine needs, and its way out; NULL when it is not emulated. */
const char *project_emulated(const json_t *project);
#define PROJECT_EMULATED                                                                                     \
    N_("EMULATED: 10 to 30 times slower than with /dev/kvm; \"hutch doctor\" says why and what mends it")

#endif
