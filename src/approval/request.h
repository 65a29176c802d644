/* request.h: a request as a value: words, digest, copies. Private to approval. */
#ifndef HUTCH_APPROVAL_REQUEST_H
#define HUTCH_APPROVAL_REQUEST_H

#include "approval/approval.h"

/* Sets digest (of whose it is, verb, key, subject, fields, generation) and a fresh nonce. */
void request_bind(struct approval_request *request);
/* Replaces a string by a copy (NULL: ""). */
void request_text(char **to, const char *from);
/* A deep copy into *to, which held nothing; and its end. */
void request_copy(struct approval_request *to, const struct approval_request *from);
void request_finish(struct approval_request *request);

#endif
