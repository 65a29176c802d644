/* create.h: what `up` asks for: reading the request, and the project that is meant, made if there is none.
 * Loop thread. */
#ifndef HUTCH_DAEMON_CREATE_H
#define HUTCH_DAEMON_CREATE_H

#include "daemon/ops.h"

/* Reads and checks the body of an `up`. body NULL: start, which asks for nothing. NULL with err.
 * up_kind.free_params frees. */
struct up_params *up_params_parse(const json_t *body, struct error **err);
/* The project that the request names, by name or by folder; a new one is recorded at once (its name is taken
 * from then on). ERROR_EXISTS when it stands on another template. */
int create_or_find(struct daemon *daemon, const json_t *body, const struct up_params *params,
                   char ret_id[PROJECT_ID_MAX], bool *ret_created, struct error **err);

#endif
