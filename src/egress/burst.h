/* burst.h: refusals on their way to the journal. Few become a row each (the same one again: one row with a
 * count); many become one row for all of them, with their number and the first 20. Bounded memory, no clock.
 */
#ifndef HUTCH_EGRESS_BURST_H
#define HUTCH_EGRESS_BURST_H

#include "egress/flow.h"

#define BURST_WINDOW_MS 250    /* refusals of so long are looked at together */
#define BURST_QUIET_MS  2000   /* without one ends a burst */
#define BURST_MAX_MS    600000 /* a burst that does not end is told by then */
#define BURST_REPEAT_MS 60000  /* the same refusal again within this is counted, not written */

struct burst;
/* ops->record gets the rows, ops->alert a word when a burst begins. */
struct burst *burst_create(const struct flow_ops *ops, void *user);
/* Writes what there is. */
void burst_destroy(struct burst *burst, int64_t now_ms);
/* One refusal; the flow is copied as far as a row needs it. */
void burst_add(struct burst *burst, const struct flow *flow, int64_t now_ms);
/* Writes what is due; when it wants to be called again in ms, -1: not. */
int64_t burst_tick(struct burst *burst, int64_t now_ms);

#endif
