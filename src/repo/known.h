/* known.h: what of a machine's commits a person has elsewhere: in the mirror of where the code came from, or
 * in a branch, a tag or what is known of "origin" of a repository of his own in which some of it landed.
 * Blocking: job threads. */
#ifndef HUTCH_REPO_KNOWN_H
#define HUTCH_REPO_KNOWN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KNOWN_REPOSITORIES_MAX 32

struct known {
    char *quarantine;
    char *repositories[KNOWN_REPOSITORIES_MAX];
    size_t count;
};
/* The quarantine's mirror, and the repositories that were noted; known_finish frees what it holds. */
void known_init(struct known *known, const char *quarantine);
void known_finish(struct known *known);
/* Another repository of the user's; NULL is none. */
void known_add(struct known *known, const char *repository);
/* Whether it is elsewhere. One that the quarantine has not is not. */
bool known_has(const struct known *known, const char *commit);
/* How many commits of it the mirror has not; -1: the quarantine has it not. */
int64_t known_count_new(const struct known *known, const char *commit);

/* Notes with the quarantine that something of it lands in this repository (full path), before it does. */
int known_note(const char *quarantine, const char *repository, struct error **err);

#endif
