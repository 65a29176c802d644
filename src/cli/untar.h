/* untar.h: a strict reader of tar streams that come from a guest: hostile input. It knows ustar, pax and GNU
 * long names; all else ends it. Everything is made relative to one folder's descriptor, step by step without
 * following links: no path leaves that folder, no link in it leads out, no device, set-id bit or sparse file
 * comes in. Files appear by temporary and rename. */
#ifndef HUTCH_CLI_UNTAR_H
#define HUTCH_CLI_UNTAR_H

#include "cli/tar.h"

#define UNTAR_ENTRIES_MAX 4000000
#define UNTAR_EXTRA_MAX   65536 /* bytes of one pax or long-name head */

struct untar;

struct untar_options {
    int folder;           /* descriptor of the folder to make things in; the caller's */
    const char *expect;   /* the name that every entry must begin with */
    const char *as;       /* the name that it gets in `folder` */
    uint64_t bytes_max;   /* most bytes of files; 0: no limit but the disk */
    uint64_t entries_max; /* 0: UNTAR_ENTRIES_MAX */
    tar_note_fn note;     /* what was left out and why; may be NULL */
    void *user;
};

/* Copies the options' strings. */
struct untar *untar_create(const struct untar_options *options);
/* Removes the temporary of an unfinished file. */
void untar_free(struct untar *untar);
AUTO_DEFINE(untar, struct untar *, untar_free);
/* Takes the next bytes. Negative: the archive is refused or the disk failed; nothing more may be fed.
 * ERROR_PROTOCOL: not an archive or a broken one, ERROR_DENIED: it tries what is not allowed, ERROR_LIMIT, or
 * a system error. What was made before stays. */
int untar_feed(struct untar *untar, const void *data, size_t len, struct error **err);
/* The stream has ended: ERROR_PROTOCOL if the archive has not. */
int untar_end(struct untar *untar, struct error **err);
/* Entries left out, and files' bytes so far. */
size_t untar_skipped(const struct untar *untar);
uint64_t untar_bytes(const struct untar *untar);

#endif
