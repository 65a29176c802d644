/* What is one question: the lines that one program, or one site, brought within two seconds. */
#include "approval/approval_internal.h"

#include "base/alloc.h"

#include <string.h>

int64_t approval_question(const struct approval_request *request)
{
    return request->batch ? request->batch : request->id;
}

static bool known_and_same(const char *a, const char *b)
{
    return a && b && *a && !strcmp(a, b);
}

static bool fits(const struct approval_item *item, const struct approval_ask *ask, int64_t now)
{
    int64_t age = now - item->batch_ms; /* negative: the clock was set back */

    return item_is_open(item) && item->batch_ms && age >= 0 && age <= APPROVAL_BATCH_MS &&
           item->request.tier != APPROVAL_CRITICAL && approval_same(item->request.project, ask->project) &&
           approval_same(item->request.boot, ask->boot) &&
           (known_and_same(item->process, ask->process) || known_and_same(item->site, ask->site));
}

const struct approval_item *batch_find(const struct approval *approval, const struct approval_ask *ask,
                                       bool *ret_full)
{
    const struct approval_item *item, *found = NULL;
    size_t lines = 0;

    *ret_full = false;
    if (ask->tier == APPROVAL_CRITICAL)
        return NULL;
    TAILQ_FOREACH(item, &approval->items, link)
    {
        if (fits(item, ask, approval_now(approval))) {
            found = item;
            break;
        }
    }
    TAILQ_FOREACH(item, &approval->items, link)
    lines += found && approval_question(&item->request) == approval_question(&found->request);
    *ret_full = lines >= APPROVAL_BATCH_MAX;
    return found;
}

void batch_join(struct approval_item *item, const struct approval_item *with, const struct approval_ask *ask)
{
    item->process = xstrdup(ask->process ? ask->process : "");
    item->site = xstrdup(ask->site ? ask->site : "");
    item->batch_ms = with ? with->batch_ms : item->request.asked_ms;
    item->request.batch = with ? approval_question(&with->request) : 0;
}

void batch_finish(struct approval_item *item)
{
    free(item->process);
    free(item->site);
}

/* A question counts by the oldest of its lines that is still there. */
static bool is_first(const struct approval *approval, const struct approval_item *line)
{
    const struct approval_item *item;

    TAILQ_FOREACH(item, &approval->items, link)
    if (item_is_open(item) && approval_question(&item->request) == approval_question(&line->request))
        return item == line;
    return false;
}

size_t batch_questions(const struct approval *approval, const char *project)
{
    const struct approval_item *item;
    size_t count = 0;

    TAILQ_FOREACH(item, &approval->items, link)
    count += item_is_open(item) && approval_same(item->request.project, project) && is_first(approval, item);
    return count;
}
