/* names.h: names that people give: projects, templates, repositories. */
#ifndef HUTCH_CONF_NAMES_H
#define HUTCH_CONF_NAMES_H

#include "base/error.h"

#define NAME_MAX_LENGTH 32

/* [a-z0-9][a-z0-9-]{0,31}. what: "project", "template", "repository", … for the message. A project's name is
 * no verb of the command line and not all digits either (request numbers are). ERROR_INVALID says which rule.
 */
int name_check(const char *what, const char *name, struct error **err);
/* A name of that form made of a folder's or URL's last part ("My Shop.git" -> "my-shop"); NULL if nothing is
 * left. It can still be a verb: name_check says so. Caller frees. */
char *name_from(const char *path_or_url);
/* The verbs that cannot be projects' names (NULL-ended, sorted); the command line's table is tested against
 * it. */
extern const char *const name_verbs[];
/* The names of the NAME.ini files in the folders (NULL-ended; one that is not there has none), sorted, each
 * once, NULL-ended; what has no name of that form is passed over. names_free frees. */
char **names_of_files(const char *what, const char *const *folders);
void names_free(char **names);

#endif
