/* suffix.h: public suffixes: names under which anybody can register (the Public Suffix List with its private
 * section, as built into libpsl, and suffix.def). No I/O. */
#ifndef HUTCH_POLICY_SUFFIX_H
#define HUTCH_POLICY_SUFFIX_H

#include <stdbool.h>

/* Is a canonical name a public suffix ("com", "github.io", "s3.amazonaws.com")? Every single label is one; if
 * the list is not there, every name is (so that no wildcard can be loaded). */
bool suffix_is_public(const char *name);
/* The part of name that is its public suffix and one label more, or NULL (name is a suffix itself). Points
 * into name. */
const char *suffix_registrable(const char *name);
/* The public suffix of name; points into name. */
const char *suffix_of(const char *name);

#endif
