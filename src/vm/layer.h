/* layer.h: qcow2 overlays by qemu-img. Formats are always explicit, never probed. Blocking. */
#ifndef HUTCH_VM_LAYER_H
#define HUTCH_VM_LAYER_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LAYER_DEPTH_MAX 64

struct layer_info {
    uint64_t virtual_size, disk_size;
    char *backing; /* full path or NULL */
    bool dirty;
};

/* Creates path as an overlay on backing (format qcow2), virtual size in bytes (>= backing's). By a temporary
 * name and rename. */
int layer_create(const char *path, const char *backing, uint64_t size, struct error **err);
/* No more is written to it: mode 0444, on the disk before it returns. Done twice is done once. */
int layer_freeze(const char *path, struct error **err);
/* Makes child stand on backing, which is below the layer that it stands on now: child then holds what that
 * one held too, and nothing else of it is needed. Whole or not at all, by a temporary copy and one rename;
 * the mode stays. cancel (may be NULL) is polled. Nobody has it open. */
int layer_merge(const char *child, const char *backing, const atomic_bool *cancel, struct error **err);
int layer_inspect(const char *path, struct layer_info *ret_info, struct error **err);
void layer_info_finish(struct layer_info *info);
/* The chain from path down to the base, top first, NULL-ended (vm_free_chain). A missing file, a loop, a data
 * file or more than LAYER_DEPTH_MAX layers: ERROR_CORRUPT. */
int layer_chain(const char *path, char ***ret_chain, struct error **err);

#endif
