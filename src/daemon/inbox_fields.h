/* inbox_fields.h: what a person is shown of a flow's question: facts that hutchd observed, and beside them,
 * marked as such, what the guest claims. Pure: from a flow to JSON. */
#ifndef HUTCH_DAEMON_INBOX_FIELDS_H
#define HUTCH_DAEMON_INBOX_FIELDS_H

#include "approval/approval.h"
#include "daemon/inbox_seen.h"
#include "egress/flow.h"

#include <jansson.h>

#define INBOX_KEY_MAX 1024

/* "CONNECT", "PRIVATE", "REQUEST", "UPLOAD": the closed list of verbs. */
const char *inbox_verb(const struct flow *flow);
/* What makes two questions the same: "docs.rs:443/tls". All that is said yes to is in it, nothing cut. */
void inbox_key(const struct flow *flow, char ret[INBOX_KEY_MAX]);
enum approval_tier inbox_tier(const struct flow *flow);
/* 1 << enum approval_scope. */
unsigned inbox_scopes(const struct flow *flow);
/* One JSON object (doc/protocol.md "requests"): new reference. history: what the journal says of the host. */
json_t *inbox_fields(const struct flow *flow, const struct inbox_history *history);
/* In such an object: whose name it is below a public suffix; NULL: unknown. */
const char *inbox_site(const json_t *fields);

#endif
