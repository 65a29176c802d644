/* What is open, for those who look. */
#include "approval/approval_internal.h"

size_t approval_list(struct approval *approval, const struct approval_request **ret, size_t max)
{
    const struct approval_item *item;
    size_t count = 0;

    TAILQ_FOREACH(item, &approval->items, link)
    if (count < max && item_is_open(item))
        ret[count++] = &item->request;
    return count;
}

size_t approval_count(struct approval *approval, const char *project)
{
    const struct approval_item *item;
    size_t count = 0;

    TAILQ_FOREACH(item, &approval->items, link)
    count += item_is_open(item) && (!project || approval_same(item->request.project, project));
    return count;
}

int64_t approval_frozen_for(struct approval *approval, const char *project)
{
    const struct approval_item *item;

    TAILQ_FOREACH(item, &approval->items, link)
    if (item->request.state == APPROVAL_FROZEN && approval_same(item->request.project, project))
        return item->request.id;
    return 0;
}
