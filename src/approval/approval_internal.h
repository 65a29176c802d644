/* approval_internal.h: between approval.c (the life of requests) and quota.c (what is not asked again, or not
 * at all). */
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
    size_t next;
    bool told; /* of the quota that is reached */
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
/* Compares texts of which NULL is the empty one. */
bool approval_same(const char *a, const char *b);

/* The denial that answers this question, or NULL. */
const struct denial *quota_denial(struct approval *approval, const struct approval_ask *ask);
/* The same again within APPROVAL_SUPPRESS_MS is answered by itself. */
void quota_deny(struct approval *approval, const struct approval_request *request);
/* May the project ask one more new question? Says so once in the journal when it may not. */
bool quota_allows(struct approval *approval, const struct approval_ask *ask);
/* It has asked one. */
void quota_count(struct approval *approval, const struct approval_request *request);
void quota_finish(struct approval *approval);

#endif
