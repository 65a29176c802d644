/* approval_internal.h: between approval.c (the life of requests), batch.c (what is one question) and quota.c
 * (what is not asked again, or not at all). */
#ifndef HUTCH_APPROVAL_INTERNAL_H
#define HUTCH_APPROVAL_INTERNAL_H

#include "approval/approval.h"

TAILQ_HEAD(waiter_list, approval_waiter);

/* An open request. */
struct approval_item {
    TAILQ_ENTRY(approval_item) link;
    struct approval_request request;
    struct waiter_list waiters;
    int64_t deadline_ms; /* of HELD and FROZEN */
    bool stored;         /* it leaves FROZEN for the disk */
    unsigned hold_ms, freeze_ms;
    char *process, *site; /* for those that come within APPROVAL_BATCH_MS of batch_ms; "" unknown */
    int64_t batch_ms;     /* when the first line of its question was asked */
};

/* A denial that answers the same again for a while. */
struct denial {
    TAILQ_ENTRY(denial) link;
    char *project, *session, *key, *reason;
    int64_t id, until_ms;
};

/* When a project's last questions were asked: the oldest is overwritten. */
struct rate {
    TAILQ_ENTRY(rate) link;
    char *project;
    int64_t asked_ms[APPROVAL_HOUR_MAX];
    bool line[APPROVAL_HOUR_MAX]; /* of a question that was asked before it */
    size_t next;
    int64_t over_ms; /* when it was over its quota last: a flood is told of once */
};

struct approval {
    struct approval_ops ops;
    void *user;
    TAILQ_HEAD(, approval_item) items; /* oldest first */
    TAILQ_HEAD(, denial) denials;
    TAILQ_HEAD(, rate) rates;
};

static inline int64_t approval_now(const struct approval *approval)
{
    return approval->ops.now(approval->user);
}
static inline bool item_stands(const struct approval_item *item)
{
    return item->request.state == APPROVAL_HELD || item->request.state == APPROVAL_FROZEN;
}
/* One that was answered or is gone stays in the list while its waiters are told. */
static inline bool item_is_open(const struct approval_item *item)
{
    return item_stands(item) || item->request.state == APPROVAL_WAITING;
}
/* Compares texts of which NULL is the empty one. */
bool approval_same(const char *a, const char *b);

/* An open line of the question that this one becomes a line of, or NULL. *ret_full: that question has all the
 * lines it can have. */
const struct approval_item *batch_find(const struct approval *approval, const struct approval_ask *ask,
                                       bool *ret_full);
/* Makes a new item a line of the question of `with` (NULL: a question of its own). */
void batch_join(struct approval_item *item, const struct approval_item *with, const struct approval_ask *ask);
void batch_finish(struct approval_item *item);
/* Open questions of a project: lines of one count once. */
size_t batch_questions(const struct approval *approval, const char *project);

/* The denial that answers this question, or NULL. */
const struct denial *quota_denial(struct approval *approval, const struct approval_ask *ask);
/* The same again within APPROVAL_SUPPRESS_MS is answered by itself. */
void quota_deny(struct approval *approval, const struct approval_request *request);
/* May the project ask one more new question, or (line) one more line of an open one? Says so in the journal
 * when it may not, once for all that follow each other by less than a minute. */
bool quota_allows(struct approval *approval, const struct approval_ask *ask, bool line);
/* The same saying, for a question that is full. */
void quota_tell(struct approval *approval, const struct approval_ask *ask);
/* It has asked one. */
void quota_count(struct approval *approval, const struct approval_request *request);
void quota_finish(struct approval *approval);

#endif
