/* limits.h: how much one fetch out of a machine may bring (security: G4). What is beyond is refused, and the
 * quarantine is as it was. */
#ifndef HUTCH_REPO_LIMITS_H
#define HUTCH_REPO_LIMITS_H

#define FETCH_PACK_MAX    (4ULL << 30) /* bytes of a pack */
#define FETCH_MEMORY_MAX  (4ULL << 30) /* of git while it takes one */
#define FETCH_CPU_S       1200
#define FETCH_WALL_S      3600
#define FETCH_QUIET_S     300            /* without a byte of progress */
#define FETCH_OBJECTS_MAX 4000000        /* in one pack */
#define FETCH_OBJECT_MAX  (512ULL << 20) /* bytes of one object, inflated */
/* Inflated, all objects of a pack may be so many times larger than it is, once they are more than the floor
 * (deltas alone make 70 of a long history). */
#define FETCH_RATIO_MAX   500
#define FETCH_RATIO_FLOOR (2ULL << 30)
/* All of a quarantine, and what a disk must have left: a machine that pushes and pushes does not fill it. */
#define QUARANTINE_MAX      (16ULL << 30)
#define QUARANTINE_FREE_MIN (2ULL << 30)
#define FETCH_REFS_MAX      5000
#define QUARANTINE_REFS_MAX 20000 /* what was pushed stays when a machine drops it, up to so many */
#define FETCH_LIST_MAX      (2 * 1024 * 1024) /* bytes of the list of refs */
#define FETCH_ALONE_MAX     64 /* refs that are tried one by one after all of them together failed */

#endif
