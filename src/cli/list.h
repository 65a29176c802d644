/* list.h: what the looking verbs share with others. */
#ifndef HUTCH_CLI_LIST_H
#define HUTCH_CLI_LIST_H

#include "client/client.h"

/* Prints the projects as `hutch ls` does. */
int list_projects(struct client *client, bool json, struct error **err);
/* Fills "{field}" and "{field.field}" of a format from an object; all values are made safe. ERROR_USAGE names
 * a field that is not there. Caller frees. */
int list_format(const char *format, const json_t *object, char **ret_text, struct error **err);

#endif
