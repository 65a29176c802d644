/* facts.h: what a comparison of files means for a person: packages, services, heads of git repositories. Only
 * what changed is looked at; the files that say it are read on both sides, in bounds. */
#ifndef HUTCH_DIFF_FACTS_H
#define HUTCH_DIFF_FACTS_H

#include "diff/changes.h"

/* A package of dpkg; NULL: not installed on that side. Strings live until fn returns. */
typedef int (*fact_package_fn)(void *user, const char *name, const char *arch, const char *old,
                               const char *new, struct error **err);
/* Those that came, went or changed their version. ERROR_LIMIT: the list of packages is too large. */
int facts_packages(struct volume *a, struct volume *b, const struct changes *changes, fact_package_fn fn,
                   void *user, struct error **err);

enum fact_service { SERVICE_ENABLED, SERVICE_DISABLED, SERVICE_MASKED, SERVICE_UNMASKED, SERVICE_KINDS };
extern const char *const fact_service_names[SERVICE_KINDS];
/* A unit of systemd that a link in /etc/systemd/system, or in a home's .config/systemd/user, is about. */
typedef int (*fact_service_fn)(void *user, const char *unit, enum fact_service what, bool of_user,
                               const char *path, struct error **err);
int facts_services(struct volume *a, struct volume *b, const struct changes *changes, fact_service_fn fn,
                   void *user, struct error **err);

/* The head of a repository on one side. */
struct fact_head {
    bool there;
    char branch[256]; /* "" for a detached head */
    char commit[65];  /* "" before the first commit */
};
typedef int (*fact_git_fn)(void *user, const char *path, const struct fact_head *old,
                           const struct fact_head *new, struct error **err);
/* Work trees whose .git changed and whose head is another. */
int facts_git(struct volume *a, struct volume *b, const struct changes *changes, fact_git_fn fn, void *user,
              struct error **err);

#endif
