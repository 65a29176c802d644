/* reason.h: why guard said no, one list for all its parsers (reason.def). */
#ifndef HUTCH_GUARD_REASON_H
#define HUTCH_GUARD_REASON_H

#include "base/buf.h"

enum guard_reason {
#define X(name, wire, status, text) GUARD_##name,
#include "guard/reason.def"
#undef X
    GUARD_REASON_COUNT
};

/* The reason code as it is journalled ("sni-missing") and the sentence for the sender. Both constant ASCII
 * without quotes or backslashes. */
const char *guard_reason_name(enum guard_reason reason);
const char *guard_reason_text(enum guard_reason reason);
/* The status of the HTTP response that says it; 400 for reasons that are not HTTP's own. */
int guard_reason_status(enum guard_reason reason);

/* Appends a whole HTTP/1.1 response that ends the connection (Connection: close, Cache-Control: no-store).
 * json: the body as it is, a NUL-ended JSON text of the caller; NULL for {"reason":…,"message":…} of the
 * reason. without_body: the request was HEAD, so only the head is appended. */
void guard_refusal(struct buf *out, enum guard_reason reason, const char *json, bool without_body);

#endif
