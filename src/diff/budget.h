/* budget.h: the limits of one comparison. A file system that a guest made can be endless in many ways; what
 * comes to an end here is named, and that is the answer. */
#ifndef HUTCH_DIFF_BUDGET_H
#define HUTCH_DIFF_BUDGET_H

#include "base/error.h"

#include <stdint.h>

#define DIFF_WALL_S         300        /* for all of it */
#define DIFF_CPU_S          240        /* of the confined child */
#define DIFF_MEMORY_MAX     (1U << 30) /* its heap */
#define DIFF_FILES_MAX      1000000    /* changes that are told; the rest is counted */
#define DIFF_FOLDERS_MAX    2000000    /* folders that are read */
#define DIFF_PATH_MAX       4096       /* bytes of a path */
#define DIFF_DEPTH_MAX      256        /* folders inside folders */
#define DIFF_LINKS_MAX      16         /* symbolic links on the way to a path */
#define FOLDER_BLOCKS_MAX   (1U << 18) /* of one folder */
#define FOLDER_ENTRIES_MAX  2000000
#define FOLDER_READS_MAX    (1U << 20) /* blocks that are read for one folder, with those of its map */
#define LINK_TARGET_MAX     4096
#define JOURNAL_BLOCKS_MAX  (1U << 20)
#define JOURNAL_ENTRIES_MAX (1U << 22)
#define TEXT_FILE_MAX       (8U << 20)  /* bytes of a side of a text diff */
#define TEXT_LINES_MAX      200000      /* lines of one that are told */
#define FACTS_FILE_MAX      (64U << 20) /* of the list of packages */
#define PACKAGES_MAX        200000
#define GIT_PLACES_MAX      1000
#define GIT_FILE_MAX        (4U << 20)

/* Shared by both sides of a comparison. */
struct budget {
    int64_t deadline_ms; /* of the monotonic clock; 0: none */
    uint64_t folders;    /* read so far */
};
void budget_begin(struct budget *budget, unsigned wall_s);
/* ERROR_TIMED_OUT past the deadline. */
int budget_check(const struct budget *budget, struct error **err);

#endif
