/* archive.h: a file or a folder of a volume, out of it: its bytes, or a tar stream as hutch-guest makes one
 * (ustar with pax records; what is neither file, folder nor link is left out). */
#ifndef HUTCH_DIFF_ARCHIVE_H
#define HUTCH_DIFF_ARCHIVE_H

#include "diff/sink.h"
#include "diff/volume.h"

#define ARCHIVE_ENTRIES_MAX 4000000
#define ARCHIVE_BYTES_MAX   (64ULL << 30)

/* {"name","type","mode","uid","gid","size","mtime_ns","target"} as hutch-guest says it. */
int archive_stat(struct volume *volume, const char *path, struct sink *sink, struct error **err);
/* The bytes of a regular file; links are followed. */
int archive_file(struct volume *volume, const char *path, struct sink *sink, struct error **err);
/* A folder; its entries are NAME, NAME/…. */
int archive_folder(struct volume *volume, const char *path, struct sink *sink, struct error **err);

#endif
