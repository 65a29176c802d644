/* tar.h: a tar stream of a host folder, made as it is read: ustar with pax records for what does not fit. */
#ifndef HUTCH_CLI_TAR_H
#define HUTCH_CLI_TAR_H

#include "base/error.h"
#include "base/tar_head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_DEPTH_MAX 256  /* folders inside folders */
#define TAR_PATH_MAX  4096 /* bytes of a path in an archive */

struct tar;

/* Says in one line (untrusted names made safe) what was left out and why. */
typedef void (*tar_note_fn)(const char *text, void *user);

/* Begins the archive of a folder; its entries are NAME, NAME/…. Symbolic links are stored as links, files of
 * other kinds are left out with a note. path itself may be a link to a folder. Nothing is read yet but the
 * folder is open. */
int tar_create(const char *path, const char *name, tar_note_fn note, void *user, struct tar **ret_tar,
               struct error **err);
void tar_free(struct tar *tar);
AUTO_DEFINE(tar, struct tar *, tar_free);
/* The next bytes of the archive (valid until the next call), at most 64 KiB; *ret_len 0: the end was reached.
 * A file that cannot be read is noted, not an error: its place is filled with zeros if its head is already
 * out. */
void tar_next(struct tar *tar, const uint8_t **ret_data, size_t *ret_len);
/* Entries that were left out or damaged so far, and files' bytes so far. */
size_t tar_skipped(const struct tar *tar);
uint64_t tar_bytes(const struct tar *tar);

#endif
