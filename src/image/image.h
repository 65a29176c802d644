/* image.h: bases: the read-only image, kernel and initrd of a template, content-addressed under
 * data/bases/DIGEST/: disk.qcow2, kernel, initrd, base.ini (template, date, kernel version, sizes, where its
 * package tools fetch from). Built by
 * mmdebstrap and mke2fs -d without root where user namespaces are, published by one rename. Blocking: runs on
 * a job thread. */
#ifndef HUTCH_IMAGE_IMAGE_H
#define HUTCH_IMAGE_IMAGE_H

#include "base/paths.h"
#include "conf/package_hosts.h"
#include "conf/template.h"

#include <stdatomic.h>

struct base {
    char digest[65];
    char *folder, *disk, *kernel, *initrd;
    char *template_name, *kernel_version;
    uint64_t size; /* bytes on disk */
    uint64_t virtual_size;
    int64_t built_ns;
    /* Of its own configuration when it was built. NULL: built before they were asked for. */
    struct package_host *package_hosts;
    size_t package_host_count;
};
void base_free(struct base *base);
AUTO_DEFINE(base, struct base *, base_free);

/* One step of progress. done/total are bytes or counts (0: unknown). Called on the building thread. */
typedef void (*image_progress_fn)(const char *phase, const char *text, uint64_t done, uint64_t total,
                                  void *user);

/* The built base of a digest; ERROR_NOT_FOUND. Checks that all files are there (ERROR_CORRUPT names one). */
int base_find(const struct paths *paths, const char *digest, struct base **ret_base, struct error **err);
/* Builds (or returns the ready one). Phases: "wait" (for another build: one runs at a time), "prepare",
 * "download", "install", "configure", "setup", "image", "publish". cancel is polled. A killed build leaves
 * only a temporary folder that the next build removes; finished downloads are kept in cache/downloads.
 * Errors: ERROR_MISSING (which package to install), ERROR_NO_SPACE (with numbers), ERROR_NETWORK,
 * ERROR_CANCELLED; the builder's last lines and the log's name are in the hint. */
int base_build(const struct paths *paths, const struct template *template, image_progress_fn progress,
               void *user, const atomic_bool *cancel, struct base **ret_base, struct error **err);
/* Removes what killed builds left in data/bases, at once if no build runs (one that does has done it). For
 * the start; quick when there is nothing. */
int base_sweep(const struct paths *paths, struct error **err);
/* What stops a build on this host before it starts: ERROR_MISSING (a program, namespaces) or ERROR_NOT_FOUND
 * (no mirror), with the way out. For doctor; takes a fraction of a second. */
int base_check_host(const struct paths *paths, const struct template *template, struct error **err);
/* All built bases, sorted by digest (*ret: array of pointers, caller frees each and the array). A damaged one
 * is left out. */
int base_list(const struct paths *paths, struct base ***ret, size_t *ret_count, struct error **err);
/* Removes a base; ERROR_NOT_FOUND. The caller knows that no layer stands on it. A kill midway leaves nothing
 * that looks like a base. */
int base_remove(const struct paths *paths, const char *digest, struct error **err);
/* data/bases; caller frees. */
char *base_folder(const struct paths *paths);
/* Writes the base.ini of a folder (for the builder). */
int base_write(const struct base *base, const char *folder, struct error **err);

#endif
