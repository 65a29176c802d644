/* request.h: a request on paper: all that a person reads before an answer, in the order of the screen. */
#ifndef HUTCH_CLI_REQUEST_H
#define HUTCH_CLI_REQUEST_H

#include "cli/args.h"
#include "client/client.h"

#include <jansson.h>

/* Prints a request as GET /v1/requests/ID gave it. Nothing is cut; what the machine claims comes last and is
 * marked so. */
void request_print(const json_t *request);
/* Its age, class and state in words, for lists; callers free. */
char *request_age(const json_t *request);
const char *request_class(const json_t *request);
const char *request_state(const json_t *request);
/* Shows an open request, asks as its class needs, and answers what was shown: one that changed meanwhile is
 * not answered. Options of args: json; yes, confirm, for (allow); message (deny). */
int request_answer(struct client *client, const struct args *args, int64_t id, bool allow,
                   struct error **err);

#endif
