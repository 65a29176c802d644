#include "guard/names.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE  (64 * 1024)
#define ENTRIES_MIN 256

/* Names one behind the other, each with its NUL. They never move. */
struct names_block {
    struct names_block *next;
    size_t used;
    char bytes[BLOCK_SIZE];
};

void names_init(struct names *names, uint64_t seed)
{
    *names = (struct names){.seed = seed, .alloc = malloc};
}

void names_finish(struct names *names)
{
    while (names->blocks) {
        struct names_block *block = names->blocks;
        names->blocks = block->next;
        free(block);
    }
    free(names->entries);
    free(names->slots);
    *names = (struct names){0};
}

/* Eight bytes at a time, each mixed with the seed, so that collisions cannot be computed from outside. */
static uint64_t hash(const struct names *names, const char *name, size_t len)
{
    uint64_t value = names->seed ^ len * 0x9e3779b97f4a7c15u;
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = 0;
        memcpy(&word, name + at, len - at < 8 ? len - at : 8);
        value = (value ^ word) * 0xff51afd7ed558ccdu;
        value = (value ^ value >> 32) + names->seed;
    }
    value *= 0xc4ceb9fe1a85ec53u;
    return value ^ value >> 29;
}

/* The slot of a name, or the free one where it belongs. The table is never full. */
static uint32_t *slot_of(const struct names *names, uint32_t *slots, size_t count, const char *name,
                         size_t len)
{
    size_t at = (size_t)hash(names, name, len) & (count - 1);
    for (; slots[at]; at = (at + 1) & (count - 1)) {
        const char *entry = names->entries[slots[at] - 1];
        if (strncmp(entry, name, len) == 0 && entry[len] == 0)
            break;
    }
    return &slots[at];
}

/* Room for one more entry in the list and the table, which is at most half full. */
static bool make_room(struct names *names)
{
    if (names->count < names->entries_cap)
        return true;
    size_t cap = names->entries_cap ? names->entries_cap * 2 : ENTRIES_MIN;
    const char **entries = names->alloc(cap * sizeof(*entries));
    uint32_t *slots = names->alloc(2 * cap * sizeof(*slots));
    if (!entries || !slots) {
        free(entries);
        free(slots);
        return false;
    }
    if (names->count > 0)
        memcpy(entries, names->entries, names->count * sizeof(*entries));
    memset(slots, 0, 2 * cap * sizeof(*slots));
    for (size_t i = 0; i < names->count; i++)
        *slot_of(names, slots, 2 * cap, entries[i], strlen(entries[i])) = (uint32_t)i + 1;
    free(names->entries);
    free(names->slots);
    names->entries = entries;
    names->entries_cap = cap;
    names->slots = slots;
    names->slot_count = 2 * cap;
    return true;
}

/* A copy that lives as long as names; NULL without memory. */
static const char *keep(struct names *names, const char *name, size_t len)
{
    struct names_block *block = names->blocks;
    if (!block || BLOCK_SIZE - block->used <= len) {
        block = names->alloc(sizeof(*block));
        if (!block)
            return NULL;
        block->next = names->blocks;
        block->used = 0;
        names->blocks = block;
    }
    char *copy = block->bytes + block->used;
    memcpy(copy, name, len);
    copy[len] = 0;
    block->used += len + 1;
    return copy;
}

int names_address(struct names *names, const char *name, size_t len, uint32_t *ret_address,
                  struct error **err)
{
    if (len == 0 || len > NAMES_NAME_MAX || memchr(name, 0, len))
        return error_set(err, ERROR_INVALID, "a name of %zu bytes can have no address", len);
    if (names->slots) {
        uint32_t known = *slot_of(names, names->slots, names->slot_count, name, len);
        if (known) {
            *ret_address = NAMES_FIRST + known - 1;
            return 0;
        }
    }
    if (names->count == NAMES_MAX)
        return error_set(err, ERROR_LIMIT, "all %u addresses for names are given away until the next boot",
                         NAMES_MAX);
    const char *copy = make_room(names) ? keep(names, name, len) : NULL;
    if (!copy)
        return error_set(err, ERROR_NO_MEMORY, "no memory for one more name with an address");
    names->entries[names->count++] = copy;
    *slot_of(names, names->slots, names->slot_count, name, len) = (uint32_t)names->count;
    *ret_address = NAMES_FIRST + (uint32_t)names->count - 1;
    return 0;
}

const char *names_find(const struct names *names, uint32_t address)
{
    return names_covers(address) && address - NAMES_FIRST < names->count
               ? names->entries[address - NAMES_FIRST]
               : NULL;
}

bool names_covers(uint32_t address)
{
    return address - NAMES_FIRST < NAMES_MAX;
}
