/* approval.h: requests: what waits for a person, over all projects. One kind of thing for connections,
 * uploads, pushes, commands and whatever comes later; what a request is about stands in its fields, which its
 * maker observed. This module owns their lives:
 *
 *     ask ─▶ HELD ── hold over, a person attends (or away = freeze) ─▶ FROZEN ─┬─ answer ─▶ ALLOWED | DENIED
 *             │                                                                │
 *             └──── hold over, nobody attends ─▶ WAITING ◀── freeze over ──────┘  (away = freeze, nobody
 *             │                                                  attends: the machine is stored meanwhile)
 *             └── everyone who waited went away ─▶ GONE          (WAITING is answered like the others)
 *
 * HELD and FROZEN have waiters, whose acts stand still; WAITING has none: they were refused with its number,
 * and an answer counts for the next attempt. Nothing is allowed but by an answer that names the digest and
 * the nonce of what was shown. An answer is saved before anybody hears of it; what cannot be saved is
 * refused.
 *
 * Times are milliseconds since 1970 (ops->now); a clock that jumps ends holds, it never allows. */
#ifndef HUTCH_APPROVAL_APPROVAL_H
#define HUTCH_APPROVAL_APPROVAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define APPROVAL_HOLD_MS     8000 /* Node's fetch and Go's TLS give up at 10 s */
#define APPROVAL_FREEZE_MS   (30 * 60 * 1000)
#define APPROVAL_SUPPRESS_MS (10 * 60 * 1000) /* a denied key is not asked again in its session */
#define APPROVAL_OPEN_MAX    5                /* questions of a project at a time */
#define APPROVAL_MINUTE_MAX  6                /* new ones of a project */
#define APPROVAL_HOUR_MAX    60
#define APPROVAL_BATCH_MS    2000 /* what one program asks within it is one question with a line for each */
#define APPROVAL_BATCH_MAX   8    /* lines of a question */
#define APPROVAL_WAITERS_MAX 256  /* of a project */
#define APPROVAL_TEXT_MAX    512
#define APPROVAL_FIELDS_MAX  (64 * 1024)
#define APPROVAL_NONCE_SIZE  33

#define APPROVAL_STATES(X)                                                                                   \
    X(HELD, "held")                                                                                          \
    X(FROZEN, "frozen")                                                                                      \
    X(WAITING, "waiting")                                                                                    \
    X(ALLOWED, "allowed")                                                                                    \
    X(DENIED, "denied")                                                                                      \
    X(GONE, "gone")
enum approval_state {
#define X(name, word) APPROVAL_##name,
    APPROVAL_STATES(X)
#undef X
        APPROVAL_STATE_COUNT
};
/* How it looks and how it is answered (ux.md 3.6). */
enum approval_tier { APPROVAL_ROUTINE, APPROVAL_UNUSUAL, APPROVAL_CRITICAL, APPROVAL_TIER_COUNT };
#define APPROVAL_SCOPES(X)                                                                                   \
    X(ONCE, "once")                                                                                          \
    X(SESSION, "session")                                                                                    \
    X(PROJECT, "project")                                                                                    \
    X(ALL, "all")                                                                                            \
    X(DURATION, "duration")
enum approval_scope {
#define X(name, word) APPROVAL_##name,
    APPROVAL_SCOPES(X)
#undef X
        APPROVAL_SCOPE_COUNT
};

/* Words as they are stored and sent; -1 from the readers for another word. */
const char *approval_state_name(enum approval_state state);
const char *approval_tier_name(enum approval_tier tier);
const char *approval_scope_name(enum approval_scope scope);
int approval_state_read(const char *word);
int approval_tier_read(const char *word);
int approval_scope_read(const char *word);

/* A request as it is shown and stored. Strings are never NULL. */
struct approval_request {
    int64_t id;
    char *project, *boot, *session; /* ids; session as the guest claims */
    char *verb;                     /* CONNECT, UPLOAD, PRIVATE … : a closed list of its makers */
    char *key;                      /* what makes two attempts the same: "docs.rs:443/tls" */
    char *subject;                  /* one line, canonical */
    char *fields;                   /* one JSON object on one line: all that is shown */
    char *owner;                    /* who answers for the act: "egress"; gets the answer by ops->apply */
    int64_t generation;             /* of the rules under which it was asked */
    enum approval_tier tier;
    unsigned scopes; /* 1 << scope: what may be answered */
    enum approval_state state;
    int64_t asked_ms, changed_ms;    /* of the state */
    uint32_t attempts;               /* how often it was asked */
    int64_t batch;                   /* it is a line of this request's question; 0: of its own */
    char digest[65];                 /* of all that is shown: whose, verb, key, fields, generation */
    char nonce[APPROVAL_NONCE_SIZE]; /* of this showing; not stored */
    /* An answer. */
    enum approval_scope scope;
    int64_t duration_s;
    char *reason; /* typed with it; or why it is gone; of an open one: why its allowance came to nothing */
    char *by;     /* who: "uid 1000, tty pts/3" */
    unsigned waiters;
};

enum approval_verdict {
    APPROVAL_ALLOW,
    APPROVAL_DENY,
    APPROVAL_AWAY,  /* refused for now: the question waits under its number */
    APPROVAL_QUOTA, /* not asked: too many questions */
    APPROVAL_FAILED /* not asked: it could not be written down (the caller's reason is `log`) */
};
struct approval_outcome {
    enum approval_verdict verdict;
    int64_t id;         /* 0: there is no request */
    const char *reason; /* typed words, or NULL; for the call only */
};

/* One act that stands still. Embedded in its owner; zero it before use. done is called once, never from
 * inside approval_ask or approval_withdraw; the waiter is off the list then. */
struct approval_waiter {
    TAILQ_ENTRY(approval_waiter) link;
    struct approval_item *item; /* private; NULL: waits for nothing */
    void (*done)(struct approval_waiter *waiter, const struct approval_outcome *outcome);
};

struct approval_ops {
    int64_t (*now)(void *user); /* ms since 1970 */
    /* Makes a request durable (insert or change; a number 0 is given here and set). */
    int (*save)(struct approval_request *request, void *user, struct error **err);
    /* A person's key came in a client that shows this project or the inbox, within ten minutes. */
    bool (*attending)(const char *project, void *user);
    bool (*away_freezes)(const char *project, void *user);
    /* The machine is to stand still for this request, or may go on. Asynchronous; asked once each. */
    void (*freeze)(const char *project, int64_t id, void *user);
    void (*thaw)(const char *project, int64_t id, void *user);
    /* In place of thaw: the freeze is over, nobody came, and away_freezes: the machine is to be saved to disk
     * and waits there. */
    void (*store)(const char *project, int64_t id, void *user);
    /* An answer was saved: allow makes what the scope says (a grant, a rule). Before the waiters hear of it.
     * Fails: the answer becomes a denial of the waiters, the question stays. */
    int (*apply)(const struct approval_request *request, void *user, struct error **err);
    /* A journal row: "approval.ask", "approval.decision", "approval.gone", "approval.quota",
     * "approval.failed" (a decision that could not be carried out; the question stays). quota: request has
     * project, verb, key, subject alone. Fails: nothing is allowed. */
    int (*journal)(const char *kind, const struct approval_request *request, void *user, struct error **err);
    void (*changed)(const struct approval_request *request, void *user); /* something to show */
    /* approval_tick wants to be called at this time (ms since 1970); 0: not needed. */
    void (*wake)(int64_t at_ms, void *user);
};

struct approval;
struct approval *approval_create(const struct approval_ops *ops, void *user);
/* Waiters must have been withdrawn. */
void approval_destroy(struct approval *approval);
/* At the start, for each stored request that is open: HELD and FROZEN become WAITING (their waiters died with
 * the hutchd before) and are saved so. The strings are copied. */
int approval_restore(struct approval *approval, const struct approval_request *request, struct error **err);

struct approval_ask {
    const char *project, *boot, *session, *verb, *key, *subject, *fields, *owner;
    const char *process, *site; /* what asks, and whose place it is: NULL or "" if that is not known */
    int64_t generation;
    enum approval_tier tier;
    unsigned scopes;
    unsigned hold_ms;   /* 0: APPROVAL_HOLD_MS */
    unsigned freeze_ms; /* 0: APPROVAL_FREEZE_MS */
};
/* Asks. True: it is held, waiter->done will be called. False: *ret_outcome at once (denied a moment ago,
 * quota, could not be written), the waiter is not used. An open question with the same project and key takes
 * the waiter in: the same session, subject, tier, scopes and generation make it the same question, else it
 * changes (new digest, new nonce). So the key must hold all that is said yes to.
 * A new one of the same process or site as another that was asked APPROVAL_BATCH_MS ago at most becomes a
 * line of that one's question, which counts as one for the quotas of questions; each line has its own answer.
 * None that is critical does. Beyond APPROVAL_BATCH_MAX lines it is too many questions. */
bool approval_ask(struct approval *approval, const struct approval_ask *ask, struct approval_waiter *waiter,
                  struct approval_outcome *ret_outcome);
/* Puts a question for which nobody stands still: it is WAITING at once, without hold, freeze or quota (the
 * caller has its own). An open one with the same project, verb and key becomes this one: new digest and
 * nonce. Returns its number; 0: it could not be written down. */
int64_t approval_put(struct approval *approval, const struct approval_ask *ask);
/* The open one of a project with this verb and key, or NULL. */
const struct approval_request *approval_find_key(struct approval *approval, const char *project,
                                                 const char *verb, const char *key);
/* The number of the request that it waits for; 0: for none. */
int64_t approval_waiter_id(const struct approval_waiter *waiter);
/* The act is no more (its stream or process ended). Without a waiter left a HELD or FROZEN request is GONE.
 */
void approval_withdraw(struct approval *approval, struct approval_waiter *waiter);

struct approval_answer {
    int64_t id;
    const char *nonce, *digest; /* of what was shown */
    bool allow;
    enum approval_scope scope;
    int64_t duration_s; /* of DURATION: 1 s to 30 days */
    const char *reason; /* or NULL */
    const char *by;
};
/* ERROR_NOT_FOUND (no such request), ERROR_STATE (answered or gone: the message says how, by whom),
 * ERROR_CHANGES (it is another one than was shown: look again), ERROR_INVALID (a scope that is not offered),
 * or what save and journal say: then it is open as before. */
int approval_answer(struct approval *approval, const struct approval_answer *answer, struct error **err);

/* What an answer allowed could not be carried out, and its owner found out after apply: the question is
 * WAITING again under its number, with the reason `why`, until it is answered again. answered: as it is
 * stored. ERROR_EXISTS: the same is asked under another number by now. */
int approval_reopen(struct approval *approval, const struct approval_request *answered, const char *why,
                    struct error **err);

/* The rules have changed: open requests of the project (NULL: all) get the new generation, digest and nonce.
 * Their owners judge their waiters again first and resolve those that the new rules decide. */
void approval_rules_changed(struct approval *approval, const char *project, int64_t generation);
/* The rules decide what request id is about, and nobody waits for it any more: it is gone. Nothing while
 * somebody waits. */
void approval_decided(struct approval *approval, int64_t id);
/* Resolves a waiter without a person (a new rule decides, the machine was thawed by hand: APPROVAL_AWAY). */
void approval_resolve(struct approval *approval, struct approval_waiter *waiter,
                      const struct approval_outcome *outcome);
/* `z`: the person lets the machine go on: FROZEN requests become WAITING, their waiters APPROVAL_AWAY. */
void approval_thawed(struct approval *approval, const char *project);
/* What waits loses its ground though nobody has answered (hutchd or the worker ends, the machine is suspended
 * or stopped): HELD and FROZEN requests of the project (NULL: of all) become WAITING, their waiters
 * APPROVAL_AWAY. */
void approval_away(struct approval *approval, const char *project);
/* The project is removed: its requests are gone. */
void approval_forget(struct approval *approval, const char *project);
/* Time passes: holds end, freezes end. */
void approval_tick(struct approval *approval);

/* The open ones, oldest first; and one of them by its number (NULL: none). Valid until the next call. */
size_t approval_list(struct approval *approval, const struct approval_request **ret, size_t max);
const struct approval_request *approval_find(struct approval *approval, int64_t id);
/* The number of the question that a request is a line of: its own if it stands alone. */
int64_t approval_question(const struct approval_request *request);
/* Open ones of a project (NULL: all); the one for which it stands still, or 0. */
size_t approval_count(struct approval *approval, const char *project);
int64_t approval_frozen_for(struct approval *approval, const char *project);

#endif
