/* tar_head.h: the head of an entry as a tar archive has it: POSIX ustar, with a pax head before it when a
 * field does not fit. */
#ifndef HUTCH_BASE_TAR_HEAD_H
#define HUTCH_BASE_TAR_HEAD_H

#include "base/buf.h"

#include <stdint.h>

#define TAR_BLOCK 512 /* bytes; an archive is made of whole ones */

/* Appends it. path, target (NULL: no link): any bytes but NUL; type: '0' file, '2' link, '5' folder; size in
 * bytes; mtime in seconds since 1970. No owner is written. out must take it. */
void tar_head_append(struct buf *out, const char *path, const char *target, char type, uint32_t mode,
                     uint64_t size, int64_t mtime);
/* What has size bytes is filled up with zeros to a whole block. */
void tar_head_pad(struct buf *out, uint64_t size);

#endif
