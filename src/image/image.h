/* image.h: bases: the read-only image, kernel and initrd of a template, content-addressed under data/bases/DIGEST/:
 * disk.qcow2, kernel, initrd, base.ini (template, date, kernel version, sizes). Built by mmdebstrap and mke2fs -d without root where user
 * namespaces are, published by one rename. Blocking: runs on a job thread. */
#ifndef HUTCH_IMAGE_IMAGE_H
#define HUTCH_IMAGE_IMAGE_H

#include "base/paths.h"
#include "conf/template.h"

#include <stdatomic.h>

struct base {
    char digest[65];
    char *folder, *disk, *kernel, *initrd;
    char *template_name, *kernel_version;
    uint64_t size;      /* bytes on disk */
    uint64_t virtual_size;
    int64_t built_ns;
};
void base_free(struct base *base);
AUTO_DEFINE(base, struct base *, base_free);

/* One step of progress. done/total are bytes or counts (0: unknown). Called on the building thread. */
typedef void (*image_progress_fn)(const char *phase, const char *text, uint64_t done, uint64_t total, void *user);

/* The built base of a digest; ERROR_NOT_FOUND. Checks that all files are there (ERROR_CORRUPT names one). */
int base_find(const struct paths *paths, const char *digest, struct base **ret_base, struct error **err);
/* Builds (or returns the ready one). Two builders of one digest: the second waits. cancel is polled. A killed build leaves only a
 * temporary folder that the next build removes; finished downloads are kept in cache/downloads. Errors: ERROR_MISSING (which package to
 * install), ERROR_NO_SPACE (with numbers), ERROR_NETWORK, ERROR_CANCELLED; the builder's last lines are in the hint. */
int base_build(const struct paths *paths, const struct template *template, image_progress_fn progress, void *user,
               const atomic_bool *cancel, struct base **ret_base, struct error **err);
/* All built bases (*ret: array of pointers, caller frees each and the array). */
int base_list(const struct paths *paths, struct base ***ret, size_t *ret_count, struct error **err);
int base_remove(const struct paths *paths, const char *digest, struct error **err);

#endif
