/* report.h: two volumes as lines of JSON. Every string that is in them is safe text (base/text.h); a path is
 * found again by it (volume_lookup). */
#ifndef HUTCH_DIFF_REPORT_H
#define HUTCH_DIFF_REPORT_H

#include "diff/sink.h"
#include "diff/volume.h"

/* What differs from a to b:
 *   {"kind":"diff","added","changed","removed","renamed","cut":bool,"notes":[text],"blocks","inodes","folders"}
 *   {"kind":"git","path","old":{"branch","commit"} or null,"new"}
 *   {"kind":"package","name","arch","old":version or null,"new"}
 *   {"kind":"service","unit","what":"enabled|disabled|masked|unmasked","user":bool,"path"}
 *   {"kind":"file","change":"added|changed|removed|renamed","path","from","old":SIDE or null,"new"}
 * SIDE: {"type":"file|folder|link|device|fifo|socket","size","mode":"0644","uid","gid","mtime_ns","target",
 * "device":"8:1"}. Files are sorted by path. What of packages, services and heads cannot be read is a note.
 */
int report_changes(const struct disk *a, const struct disk *b, struct sink *sink, struct error **err);
/* One file: its row as above, then hunks and lines (texts.h). What is no text, or over TEXT_FILE_MAX, has
 * "binary" or "too_large" in its row, and no lines. ERROR_NOT_FOUND: on neither side. */
int report_text(const struct disk *a, const struct disk *b, const char *path, struct sink *sink,
                struct error **err);

#endif
