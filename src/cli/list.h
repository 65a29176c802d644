/* list.h: what the looking verbs share with others. */
#ifndef HUTCH_CLI_LIST_H
#define HUTCH_CLI_LIST_H

#include "client/client.h"

/* Prints the projects as `hutch ls` does. */
int list_projects(struct client *client, bool json, struct error **err);

#endif
