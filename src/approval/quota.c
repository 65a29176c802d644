#include "approval/approval_internal.h"

#include "base/alloc.h"

#include <string.h>

#define MINUTE_MS 60000
#define HOUR_MS   3600000

bool approval_same(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

static void denial_free(struct approval *approval, struct denial *denial)
{
    TAILQ_REMOVE(&approval->denials, denial, link);
    free(denial->project);
    free(denial->session);
    free(denial->key);
    free(denial->reason);
    free(denial);
}

const struct denial *quota_denial(struct approval *approval, const struct approval_ask *ask)
{
    struct denial *denial, *next;
    int64_t time = approval_now(approval);

    for (denial = TAILQ_FIRST(&approval->denials); denial; denial = next) {
        next = TAILQ_NEXT(denial, link);
        if (denial->until_ms <= time || denial->until_ms - time > APPROVAL_SUPPRESS_MS)
            denial_free(approval, denial);
        else if (approval_same(denial->project, ask->project) &&
                 approval_same(denial->session, ask->session) && approval_same(denial->key, ask->key))
            return denial;
    }
    return NULL;
}

static struct rate *find_rate(struct approval *approval, const char *project)
{
    struct rate *rate;

    TAILQ_FOREACH(rate, &approval->rates, link)
    if (approval_same(rate->project, project))
        return rate;
    rate = xnew(struct rate);
    rate->project = xstrdup(project);
    TAILQ_INSERT_TAIL(&approval->rates, rate, link);
    return rate;
}

static size_t asked_since(const struct rate *rate, int64_t since, bool lines)
{
    size_t count = 0;

    for (size_t i = 0; i < countof(rate->asked_ms); i++)
        count += rate->asked_ms[i] > since && (lines || !rate->line[i]);
    return count;
}

void quota_deny(struct approval *approval, const struct approval_request *request)
{
    struct denial *denial = xnew(struct denial);

    denial->project = xstrdup(request->project);
    denial->session = xstrdup(request->session);
    denial->key = xstrdup(request->key);
    denial->reason = request->reason[0] ? xstrdup(request->reason) : NULL;
    denial->id = request->id;
    denial->until_ms = approval_now(approval) + APPROVAL_SUPPRESS_MS;
    TAILQ_INSERT_TAIL(&approval->denials, denial, link);
}

void quota_tell(struct approval *approval, const struct approval_ask *ask)
{
    struct rate *rate = find_rate(approval, ask->project);
    struct approval_request about = {.project = (char *)ask->project,
                                     .boot = (char *)ask->boot,
                                     .session = (char *)ask->session,
                                     .verb = (char *)ask->verb,
                                     .key = (char *)ask->key,
                                     .subject = (char *)ask->subject};

    int64_t time = approval_now(approval), age = time - rate->over_ms;

    rate->over_ms = time;
    if (age >= 0 && age < MINUTE_MS)
        return;
    approval->ops.journal("approval.quota", &about, approval->user, NULL);
}

bool quota_allows(struct approval *approval, const struct approval_ask *ask, bool line)
{
    struct rate *rate = find_rate(approval, ask->project);
    int64_t time = approval_now(approval);
    bool read = asked_since(rate, time - HOUR_MS, true) < APPROVAL_HOUR_MAX; /* lines are read too */

    if (line && read)
        return true;
    if (!line && read && batch_questions(approval, ask->project) < APPROVAL_OPEN_MAX &&
        asked_since(rate, time - MINUTE_MS, false) < APPROVAL_MINUTE_MAX)
        return true;
    quota_tell(approval, ask);
    return false;
}

void quota_count(struct approval *approval, const struct approval_request *request)
{
    struct rate *rate = find_rate(approval, request->project);

    size_t at = rate->next++ % countof(rate->asked_ms);

    rate->asked_ms[at] = request->asked_ms;
    rate->line[at] = request->batch != 0;
}

void quota_finish(struct approval *approval)
{
    struct rate *rate;

    while (!TAILQ_EMPTY(&approval->denials))
        denial_free(approval, TAILQ_FIRST(&approval->denials));
    while ((rate = TAILQ_FIRST(&approval->rates))) {
        TAILQ_REMOVE(&approval->rates, rate, link);
        free(rate->project);
        free(rate);
    }
}
