/* freeze.h: `hutch-guest freeze`: holds the machine's file systems for the moment of a snapshot. A process of
 * its own, wholly in locked memory, because whatever needs the disk while they are held waits with them; it
 * lets go by itself after FREEZE_LIMIT_MS. It writes "ready" when all that takes time is done, waits for a
 * byte on stdin, holds, writes "frozen" or "failed WHY", waits for another byte, lets go, and writes
 * "thawed", or "late" when the time or the end of stdin had come first. */
#ifndef HUTCH_GUEST_FREEZE_H
#define HUTCH_GUEST_FREEZE_H

#include <stdbool.h>
#include <stddef.h>

#define FREEZE_LIMIT_MS  5000
#define FREEZE_WAIT_MS   60000 /* from ready to the word */
#define FREEZE_POINT_MAX 256   /* file systems of a machine */

/* argv[1…]: mount points; none: every file system of a block device that is mounted for writing. */
int freeze_main(int argc, char **argv);
/* Lets go of every such file system, whoever holds it: for after a holder that was killed. */
void freeze_thaw_all(void);
/* A line of /proc/self/mountinfo (changed): where a file system of a block device is mounted for writing,
 * with the codes of blanks resolved; NULL for any other. *ret_device: its device as "8:1". */
char *freeze_point(char *line, char **ret_device);

#endif
