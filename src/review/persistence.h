/* persistence.h: what of a push would later run on the host or steer its tools (the persistence list), and a
 * push in numbers. Paths in and out are data: nothing here opens a file of a work tree. */
#ifndef HUTCH_REVIEW_PERSISTENCE_H
#define HUTCH_REVIEW_PERSISTENCE_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

/* The class of a path (bytes as git has them) by persistence.def: "git", "ci", "editor", "shell", "hooks",
 * "packages", "build", "agent"; NULL for a path that no tool runs by itself. Letters compare without case, as
 * some file systems do. A constant string. */
const char *persistence_class(const char *path);

/* What landing `new_hex` would bring. quarantine: a bare repository of hutch's own (its mirror as alternate);
 * nothing but its objects and the mirror's refs is read. old_hex: what the branch was before, or NULL.
 * *ret: {"base": hex or null, "commits", "new_commits" (not in old), "files", "insertions", "deletions",
 * "counted": false when lines were not counted to the end, "cut": true when not every file was looked at,
 * "forced": old is no ancestor of new,
 * "persistence": [{"path", "class", "change": "new|changed|deleted|mode", "target" (symlink)}],
 * "persistence_more": how many more than PERSISTENCE_MAX there are}.
 * All but new_commits and forced is measured from "base", the newest commit of the mirror that new builds on
 * (null: the empty tree), so that a second push does not hide what the first one brought. Further classes:
 * "executable" (its bit changed), "symlink", "submodule", "name" (it would mislead on a screen), and "unread"
 * with an empty path when a limit was met: whoever asks fails closed. Paths are safe text (base/text.h).
 * ERROR_NOT_FOUND: no such commit. ERROR_INVALID: no commit's id, or it names no commit. ERROR_MISSING: a
 * repository with sha256 names, which libgit2 does not read. ERROR_CORRUPT: libgit2's words. Takes up to some
 * seconds: job threads. The caller owns *ret. */
int review_summary(const char *quarantine, const char *old_hex, const char *new_hex, json_t **ret,
                   struct error **err);

/* Most entries of the list. */
#define PERSISTENCE_MAX 500

#endif
