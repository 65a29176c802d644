/* budget.h: counters of what a project has sent: bytes up by name and hour, in all, and new names. Pure
 * counting with the time passed in. "An hour" is any 60 minutes: the counters are buckets of five minutes,
 * and a bucket counts until all of it is older than an hour, so that never more than a limit passes. */
#ifndef HUTCH_POLICY_BUDGET_H
#define HUTCH_POLICY_BUDGET_H

#include "base/error.h"
#include "policy/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGET_NAME_BYTES  (64ULL << 10) /* mode budget: up, a name and hour */
#define BUDGET_TOTAL_BYTES (1ULL << 20)  /* up, a project and hour */
#define BUDGET_NAMES       60            /* new names, a project and hour */
#define BUDGET_NAMES_MAX   4096          /* names with a counter at one time; beyond: nothing more passes */

/* The counters of one project. Not safe on two threads. */
struct budget;
struct budget *budget_create(void);
void budget_destroy(struct budget *budget);

/* What bounds a stream. total: it counts against the project's total (allowed by mode budget alone). */
struct budget_limits {
    uint64_t name_bytes; /* UINT64_MAX: none */
    bool total;
};

/* Mode budget: may this name be opened? A name that was let in and still has something in the hour is not
 * new. Lets it in and returns true, or false: ask (BUDGET_NAMES). */
bool budget_admit(struct budget *budget, const struct host *host, int64_t now);
/* Takes up to want bytes for sending and counts them at once, so that many streams together pass no limit.
 * Returns how many may be sent now, 0: ask first (budget_raise), or wait. */
uint64_t budget_take(struct budget *budget, const struct host *host, uint64_t want,
                     const struct budget_limits *limits, int64_t now);
/* Gives back what was taken at `taken` (the now of budget_take) and not sent. */
void budget_give_back(struct budget *budget, const struct host *host, uint64_t bytes,
                      const struct budget_limits *limits, int64_t taken);
/* How many bytes budget_take would grant at most. */
uint64_t budget_room(const struct budget *budget, const struct host *host, const struct budget_limits *limits,
                     int64_t now);
/* A person said yes: bytes more for this name (and, of the total, for the project) in the coming hour. */
void budget_raise(struct budget *budget, const struct host *host, uint64_t bytes,
                  const struct budget_limits *limits, int64_t now);

/* The counters as text, for a store: what counts no more at now is left out. Caller frees. */
char *budget_write(const struct budget *budget, int64_t now);
/* Takes them into one that was just made. ERROR_CORRUPT: it is not such a text, and all that a budget gives
 * counts as used. */
int budget_read(struct budget *budget, const char *text, int64_t now, struct error **err);
/* Grows with every change of a counter. */
uint64_t budget_changes(const struct budget *budget);

/* For the screen. */
struct budget_use {
    uint64_t total_bytes;
    unsigned names;
};
void budget_use(const struct budget *budget, int64_t now, struct budget_use *ret_use);
uint64_t budget_name_bytes(const struct budget *budget, const struct host *host, int64_t now);

#endif
