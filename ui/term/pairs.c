#include "ui/term/pairs.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>

#define BUCKETS 1024
/* More are not looked through for a background. */
#define SCAN_MAX 256

struct pair {
    int fg, bg;
    unsigned frame;
    int chain;        /* the next of the same bucket, 0: none */
    int newer, older; /* by use; 0: none */
};

struct pairs {
    int most, used;
    unsigned frame;
    int newest, oldest;
    int buckets[BUCKETS];
    struct pair *list; /* from 1 */
};

struct pairs *pairs_create(int most)
{
    struct pairs *pairs = xnew(struct pairs);
    pairs->most = most < 0 ? 0 : most;
    pairs->list = xnewn(struct pair, (size_t)pairs->most + 1);
    return pairs;
}

void pairs_free(struct pairs *pairs)
{
    if (!pairs)
        return;
    free(pairs->list);
    free(pairs);
}

void pairs_frame(struct pairs *pairs)
{
    pairs->frame++;
}

static int *bucket_of(struct pairs *pairs, int fg, int bg)
{
    uint32_t hash = ((uint32_t)fg * 2654435761u) ^ ((uint32_t)bg * 2246822519u);
    return &pairs->buckets[(hash ^ hash >> 15) % BUCKETS];
}

static void use_remove(struct pairs *pairs, int index)
{
    struct pair *pair = pairs->list + index;
    *(pair->newer ? &pairs->list[pair->newer].older : &pairs->newest) = pair->older;
    *(pair->older ? &pairs->list[pair->older].newer : &pairs->oldest) = pair->newer;
}

static void use_add(struct pairs *pairs, int index)
{
    struct pair *pair = pairs->list + index;
    pair->older = pairs->newest;
    pair->newer = 0;
    *(pairs->newest ? &pairs->list[pairs->newest].newer : &pairs->oldest) = index;
    pairs->newest = index;
    pair->frame = pairs->frame;
}

static void bucket_remove(struct pairs *pairs, int index)
{
    int *at = bucket_of(pairs, pairs->list[index].fg, pairs->list[index].bg);
    while (*at != index)
        at = &pairs->list[*at].chain;
    *at = pairs->list[index].chain;
}

/* A pair that no cell of this frame has, 0: none. */
static int take(struct pairs *pairs)
{
    if (pairs->used < pairs->most)
        return ++pairs->used;
    int index = pairs->oldest;
    if (!index || pairs->list[index].frame == pairs->frame)
        return 0;
    use_remove(pairs, index);
    bucket_remove(pairs, index);
    return index;
}

static int same_background(const struct pairs *pairs, int bg)
{
    for (int i = 1; i <= pairs->used && i <= SCAN_MAX; i++)
        if (pairs->list[i].bg == bg && pairs->list[i].frame == pairs->frame)
            return i;
    return 0;
}

bool pairs_get(struct pairs *pairs, int fg, int bg, int *ret_pair)
{
    *ret_pair = 0;
    if (fg < 0 && bg < 0)
        return false;
    int *bucket = bucket_of(pairs, fg, bg);
    for (int i = *bucket; i; i = pairs->list[i].chain) {
        if (pairs->list[i].fg != fg || pairs->list[i].bg != bg)
            continue;
        if (pairs->newest != i || pairs->list[i].frame != pairs->frame) {
            use_remove(pairs, i);
            use_add(pairs, i);
        }
        *ret_pair = i;
        return false;
    }
    int index = take(pairs);
    if (!index) {
        *ret_pair = same_background(pairs, bg);
        return false;
    }
    pairs->list[index] = (struct pair){.fg = fg, .bg = bg, .chain = *bucket};
    *bucket = index;
    use_add(pairs, index);
    *ret_pair = index;
    return true;
}
