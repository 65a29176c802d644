/* flow_claim.h: what a guest says about a flow, from its two header fields into fixed structs. Hostile, like
 * all that decode.h reads. Pure functions. */
#ifndef HUTCH_WORKER_FLOW_CLAIM_H
#define HUTCH_WORKER_FLOW_CLAIM_H

#include "worker/flow_proto.h"

#include <stdbool.h>
#include <stddef.h>

/* False: no such word. */
bool flow_entrance_read(const char *word, enum flow_entrance *ret_entrance);
/* One JSON object with some of pid, uid, exe, argv, cwd, session, cut; {} is a guest that does not know.
 * Words of argv that do not fit are left out and counted in argc (cut is set). False: it is anything else. */
bool flow_claim_read(const char *json, size_t len, struct flow_claim *ret_claim);

#endif
