/* names.h: the synthetic addresses of the guest's stub: a name gets one of 198.18.0.0/15 and keeps it for the
 * whole boot. Pure data. */
#ifndef HUTCH_GUARD_NAMES_H
#define HUTCH_GUARD_NAMES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_FIRST    0xc6120000u /* 198.18.0.0, host order */
#define NAMES_MAX      131072u     /* all of the /15 */
#define NAMES_NAME_MAX 253

/* Memory is taken as names come, at most about 37 MiB when all are as long as can be. */
struct names {
    uint64_t seed;
    const char **entries; /* by address; terminated, in blocks */
    size_t count, entries_cap;
    uint32_t *slots; /* hash table of index + 1, 0 free */
    size_t slot_count;
    struct names_block *blocks;
    void *(*alloc)(size_t size); /* malloc; tests let it fail */
};

/* seed: random, so that nobody chooses names that collide. */
void names_init(struct names *names, uint64_t seed);
void names_finish(struct names *names);
/* The address (host order) of a canonical name of 1 to NAMES_NAME_MAX bytes without NUL; the next free one
 * when it is new. -ERROR_LIMIT when all are given away, -ERROR_NO_MEMORY when there is none, -ERROR_INVALID
 * for another length: the caller says SERVFAIL; names that have an address keep it in every case. */
int names_address(struct names *names, const char *name, size_t len, uint32_t *ret_address,
                  struct error **err);
/* The name of an address, valid as long as names; NULL for one that was not given. */
const char *names_find(const struct names *names, uint32_t address);
/* Whether the address is one of the range, given away or not. */
bool names_covers(uint32_t address);

#endif
