/* decode.h: a guest's JSON into the fixed structs of proto.h. Everything in it is hostile: each field is
 * typed and bounded, a wrong type or range is ERROR_PROTOCOL that names the field. Text for people is cut to
 * its field; names, ids and states are taken whole or refused. Pure functions. */
#ifndef HUTCH_WORKER_DECODE_H
#define HUTCH_WORKER_DECODE_H

#include "wire/json.h"
#include "worker/proto.h"

/* Fills item->kind and item->u from an answer (or, with list, from one line of a list). GUEST_NOTHING takes
 * any object. item is changed only on success. */
int decode_result(enum guest_result_kind kind, bool list, const json_t *value, struct wmsg_item *item,
                  struct error **err);
/* Copies text, cut on a character's border; always terminated, the rest zeroed. */
void decode_text(char *to, size_t size, const char *from);
/* Reads {"error":{"code","message","hint"}} of a refused call into the three error fields. What is no such
 * object becomes code "guest" with the HTTP status as text. Never fails. */
void decode_refusal(const char *data, size_t len, int status, struct wmsg_item *item);
/* A whole decimal number of a header field (hutch-offset); false if it is anything else. */
bool decode_number(const char *text, uint64_t *ret);

#endif
