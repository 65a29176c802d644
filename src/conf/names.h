/* names.h: names that people give: projects, templates, repositories. */
#ifndef HUTCH_CONF_NAMES_H
#define HUTCH_CONF_NAMES_H

#include "base/error.h"

/* [a-z0-9][a-z0-9-]{0,31}, not a verb of the command line, not all digits. ERROR_INVALID says which rule. what: "project", … */
int name_check(const char *what, const char *name, struct error **err);
/* A valid name made of a folder's or URL's last part ("My Shop.git" -> "my-shop"); NULL if nothing is left. Caller frees. */
char *name_from(const char *path_or_url);
/* The verbs that cannot be names (NULL-ended); the command line's table is tested against it. */
extern const char *const name_verbs[];

#endif
