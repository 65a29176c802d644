/* image.h: one qcow2 file, read only, by its descriptor. Its tables were written by a QEMU that a guest may
 * have taken over: every number in them is held against the file and against limits before it is used. The
 * name of a layer below is not looked at: who opens a chain says what it is (disk.h). */
#ifndef HUTCH_DIFF_IMAGE_H
#define HUTCH_DIFF_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_SIZE_MAX   (16ULL << 40) /* bytes of a disk */
#define IMAGE_TABLES_MAX (1U << 22)    /* entries of its first table */

enum image_kind {
    IMAGE_BELOW, /* the layer below says what is there */
    IMAGE_ZERO,
    IMAGE_DATA,
};
/* What holds from an offset on. */
struct image_run {
    enum image_kind kind;
    uint64_t at;  /* IMAGE_DATA: offset in the file */
    uint64_t len; /* bytes, at least 1 */
};

struct image;

/* Reads the head; takes over the descriptor when it succeeds. ERROR_CORRUPT: no qcow2, a damaged one, one
 * that is encrypted, or keeps its data in another file; ERROR_INVALID: subclusters, which are not read. */
int image_open(int fd, struct image **ret_image, struct error **err);
void image_close(struct image *image);
AUTO_DEFINE(image, struct image *, image_close);
uint64_t image_size(const struct image *image);
/* What is at an offset below image_size. ERROR_CORRUPT: a table is not where one can be; ERROR_INVALID: a
 * compressed cluster. */
int image_find(struct image *image, uint64_t offset, struct image_run *ret_run, struct error **err);
/* Calls fn for each stretch that this layer itself has, data or zeros. The tables of what is not allocated
 * are not read: the cost follows what was written. */
int image_written(struct image *image, void (*fn)(uint64_t offset, uint64_t len, void *user), void *user,
                  struct error **err);
/* Reads len bytes of the file; what lies behind its end is zeros. */
int image_read(const struct image *image, uint64_t at, void *data, size_t len, struct error **err);

#endif
