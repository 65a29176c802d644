/* inbox_seen.h: what the journal says of a host that is asked about. Loop thread. */
#ifndef HUTCH_DAEMON_INBOX_SEEN_H
#define HUTCH_DAEMON_INBOX_SEEN_H

#include "daemon/daemon.h"
#include "egress/flow.h"

/* Zeroed it is new: how often the journal was searched lately. */
struct inbox_seen {
    int64_t looks_ms;
    unsigned looks;
};

/* Connections to a host and port that were let out. */
struct inbox_history {
    bool known;                /* false: nobody has looked, or the journal cannot be read */
    int64_t first_ns, last_ns; /* from this project; 0: never */
    int64_t elsewhere_ns;      /* the last from another project; 0: never */
};

/* Looks in the journal, but not more than LOOKS_MAX times a minute: who asks much does not keep the loop at
 * it. */
void inbox_seen_look(struct daemon *daemon, struct inbox_seen *seen, const struct flow *flow,
                     struct inbox_history *ret_history);

#endif
