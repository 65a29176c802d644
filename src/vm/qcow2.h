/* qcow2.h: the head of a qcow2 file, as far as a chain of layers needs it. A layer was written by a QEMU that
 * a guest may have taken over, so it is read here, in bounds, and not by a tool that would follow what it
 * names. Format: docs/interop/qcow2.txt of QEMU. */
#ifndef HUTCH_VM_QCOW2_H
#define HUTCH_VM_QCOW2_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define QCOW2_BACKING_MAX 1023 /* bytes of a backing file's name, by the format */

struct qcow2_head {
    uint64_t virtual_size;
    uint64_t disk_size;                  /* allocated bytes of the file */
    bool dirty;                          /* was not closed in order */
    char backing[QCOW2_BACKING_MAX + 1]; /* as it is written; empty: none */
};

/* Reads the head of a regular file (no link). ERROR_NOT_FOUND, or ERROR_CORRUPT: no qcow2, marked damaged,
 * encrypted, an external data file, an unknown feature, or a backing file whose format is not said to be
 * qcow2. */
int qcow2_read(const char *path, struct qcow2_head *ret_head, struct error **err);

#endif
