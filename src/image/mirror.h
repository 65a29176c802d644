/* mirror.h: where a template's packages come from. hutch names no server: the host's own apt configuration
 * says which mirror its user trusts, and the template's suite takes the place of the host's. */
#ifndef HUTCH_IMAGE_MIRROR_H
#define HUTCH_IMAGE_MIRROR_H

#include "base/paths.h"
#include "conf/template.h"

struct mirrors {
    char *main;     /* "http://…/debian", no slash at the end */
    char *security; /* or NULL: no security updates */
};
void mirrors_finish(struct mirrors *mirrors);

/* The Debian mirrors of an apt configuration: sources.list and sources.list.d (one-line .list, deb822
 * .sources, mirror+file: lists) under folder ("/etc/apt"). Other vendors' repositories are told apart by
 * their keyring and path. ERROR_NOT_FOUND if there is none. */
int mirrors_scan(const char *folder, struct mirrors *ret_mirrors, struct error **err);
/* The mirrors of a template: its own keys, else those of the user's hutch.ini, else the host's. The error
 * says how to set one. Caller calls mirrors_finish. */
int mirrors_find(const struct paths *paths, const struct template *template, const char *apt_folder,
                 struct mirrors *ret_mirrors, struct error **err);
/* The one-line sources of a suite: NULL-ended, the array and its strings are the caller's. */
char **mirrors_sources(const struct mirrors *mirrors, const char *suite);

#endif
