#include "repo/offers.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

void offered_finish(struct offered *offered)
{
    free(offered->theirs);
    free(offered->ours);
    free(offered->commit);
    free(offered->old);
}

bool offered_is_taken(const struct offered *offered)
{
    return offered->taken;
}

bool offered_is_kept(const struct offered *offered)
{
    return offered->old || offered->placed;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct offered *)a)->ours, ((const struct offered *)b)->ours);
}

void offers_sort(struct offered *list, size_t count)
{
    if (count)
        qsort(list, count, sizeof(*list), compare);
}

/* The first whose name is not less; count if there is none. */
static size_t lower_bound(const struct offered *list, size_t count, const char *ours)
{
    size_t from = 0, to = count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(list[middle].ours, ours) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct offered *offers_find(const struct offered *list, size_t count, const char *ours)
{
    size_t at = lower_bound(list, count, ours);
    return at < count && !strcmp(list[at].ours, ours) ? &list[at] : NULL;
}

bool offers_collide(const struct offered *list, size_t count, const char *ours,
                    bool (*counts)(const struct offered *offered))
{
    autofree char *below = xasprintf("%s/", ours), *above = xstrdup(ours);
    size_t len = strlen(below);

    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        *slash = '\0';
        const struct offered *one = offers_find(list, count, above);
        if (one && counts(one))
            return true;
    }
    for (size_t i = lower_bound(list, count, below); i < count && !strncmp(list[i].ours, below, len); i++)
        if (counts(&list[i]))
            return true;
    return false;
}
