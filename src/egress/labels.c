#include "egress/labels.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define BASES     32 /* that are counted at a time; the oldest makes room */
#define MINUTE_MS 60000

struct base {
    uint64_t key; /* 0: free */
    int64_t since_ms;
    uint64_t names[LABELS_MAX]; /* hashes of the names seen */
    unsigned count;
    bool told;
};
struct labels {
    struct base bases[BASES];
};

struct labels *labels_create(void)
{
    return xnew(struct labels);
}

void labels_destroy(struct labels *labels)
{
    free(labels);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037ULL;

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 1099511628211ULL;
    return hash ? hash : 1;
}

/* The counter of a base for this minute, begun anew where it is over. */
static struct base *find_base(struct labels *labels, uint64_t key, int64_t now_ms)
{
    struct base *oldest = &labels->bases[0];

    for (size_t i = 0; i < BASES; i++) {
        struct base *base = &labels->bases[i];

        if (base->key == key && now_ms - base->since_ms < MINUTE_MS)
            return base;
        if (base->key == key || !base->key || (oldest->key && base->since_ms < oldest->since_ms))
            oldest = base;
        if (base->key == key)
            break;
    }
    *oldest = (struct base){.key = key, .since_ms = now_ms};
    return oldest;
}

bool labels_add(struct labels *labels, const char *base_name, const char *name, int64_t now_ms)
{
    struct base *base = find_base(labels, hash_of(base_name), now_ms);
    uint64_t hash = hash_of(name);

    for (unsigned i = 0; i < base->count; i++) {
        if (base->names[i] == hash)
            return false;
    }
    if (base->count < LABELS_MAX) {
        base->names[base->count++] = hash;
        return false;
    }
    bool first = !base->told;
    base->told = true;
    return first;
}
