/* host_ask.h: a question to the host from a program of the machine: a reserved name (NAME.hutch.internal)
 * through the machine's proxy, answered with JSON. Blocking. */
#ifndef HUTCH_GUEST_HOST_ASK_H
#define HUTCH_GUEST_HOST_ASK_H

#include "wire/json.h"

#define HOST_ASK_PORT 80

/* Asks `name`. *ret_status: of HTTP, 0 when there was none (the host went away, limit_s passed); *ret_body:
 * the JSON, or NULL; caller frees. limit_s 0: none. ERROR_…: the proxy of this machine does not answer. */
int host_ask(const char *name, unsigned limit_s, int *ret_status, json_t **ret_body, struct error **err);
/* A text of an answer; `otherwise` if it has none. Belongs to the answer. Untrusted only as far as the host
 * is. */
const char *host_ask_word(const json_t *body, const char *key, const char *otherwise);

#endif
