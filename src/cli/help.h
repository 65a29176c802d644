/* help.h: help from the verbs' table. */
#ifndef HUTCH_CLI_HELP_H
#define HUTCH_CLI_HELP_H

#include "cli/verb.h"

/* All verbs, or the options of one, to stdout. */
void help_all(void);
void help_verb(const struct verb *verb);

#endif
