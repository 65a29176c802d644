/* flow.h: the flows of one project: from what the worker says (worker/flow_proto.h) to a verdict, a dial,
 * credit and a record. No I/O and no clock: what must be done goes out by flow_ops, and what came of it comes
 * back by a function. So every order of events can be had in a test, and one place decides for every
 * entrance.
 *
 *   take(ASK) ─▶ decide ─▶ [ask ─▶ flows_answer] ─▶ resolve ─▶ flows_resolved ─▶ send VERDICT
 *   take(READY) ─▶ record open ─▶ flows_recorded ─▶ dial ─▶ flows_dialed ─▶ send DIALED ─▶ take(END) ─▶
 * record close
 *
 * An operation may answer from inside of its call. Everything fails closed: without a policy, a person, a
 * journal or an address the answer is a refusal with its own reason. */
#ifndef HUTCH_EGRESS_FLOW_H
#define HUTCH_EGRESS_FLOW_H

#include "egress/dial.h"
#include "egress/resolver.h"
#include "policy/budget.h"
#include "policy/policy.h"
#include "worker/flow_proto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOWS_MAX           256  /* of a project at a time, held ones too */
#define FLOWS_HELD_MAX      64   /* of them held by questions, so that those starve nobody */
#define FLOWS_RATE          1000 /* new ones a second … */
#define FLOWS_BURST         2000 /* … and at once */
#define FLOWS_RESOLVING_MAX 4    /* lookups of a project at a time; the rest waits */

enum flow_state {
    FLOW_STATE_NEW,       /* being judged */
    FLOW_STATE_HELD,      /* a person is asked */
    FLOW_STATE_RESOLVING, /* also: waits for its turn */
    FLOW_STATE_ALLOWED,   /* the verdict is out, the first flight is awaited */
    FLOW_STATE_RECORDING, /* the open row is being written */
    FLOW_STATE_DIALING,
    FLOW_STATE_OPEN,
    FLOW_STATE_ENDING, /* cut, refused late or failed: only the worker's END is missing */
    FLOW_STATE_COUNT
};
const char *flow_state_name(enum flow_state state);

/* One flow, for who records and shows it: read only. */
struct flow {
    struct flow *next;
    uint64_t id; /* the worker's number */
    enum flow_state state;
    enum flow_entrance entrance;
    char authority[FLOW_AUTHORITY_MAX]; /* as asked for: untrusted */
    struct flow_claim claim;            /* untrusted */
    char command[16];                   /* the claimed process, as grants are bound to it; "" */
    bool parsed;                        /* request is filled; else authority is malformed */
    struct request request;
    struct policy *policy; /* that verdict points into; NULL: there is none */
    struct verdict verdict;
    char proxy[280]; /* the proxy's authority when it goes through one, else "" */
    struct address addresses[RESOLVER_ADDRESSES_MAX]; /* that may be dialled */
    size_t address_count;
    size_t answer_count; /* addresses that it resolved to */
    unsigned resolve_ms;
    char failure[48]; /* of resolving or dialling, a fixed word */
    struct address used;
    unsigned dial_ms;
    uint32_t tls_version; /* of READY, as the next */
    bool ech;
    char sni[256], alpn[FLOW_ALPN_MAX][32];
    uint32_t alpn_count;
    char method[24], path[FLOW_PATH_MAX]; /* of the last HTTP request; "" */
    uint32_t http_number, http_status;    /* of the last response */
    int64_t begun_ms, opened_ms;          /* opened: the open row */
    uint64_t up, down;
    uint64_t credit;     /* bytes up that were given; FLOW_CREDIT_ALL: no limit */
    uint64_t request_id; /* of the question, 0 */
    struct grant grant;  /* verdict.grant points here */
    /* ---- flow.c's own ---- */
    bool reserved; /* N.request.hutch.internal, REPO.push, REPO.fetch, all.turn of it */
    bool answered; /* a person allowed this very flow */
    bool recorded; /* the open row was written: it needs a close row */
    bool resolving;
    uint8_t asked;          /* what the question is about: enum flow_question */
    uint32_t asked_number;  /* of the HTTP request */
    uint64_t taken;         /* of the budget, not yet given back */
    int64_t taken_s;        /* the time of the first taking */
    const char *end_reason; /* why hutchd ended it: a fixed code, or NULL */
};

enum flow_git { FLOW_GIT_PUSH, FLOW_GIT_FETCH, FLOW_GIT_TURN };

enum flow_question {
    FLOW_ASK_NOTHING,
    FLOW_ASK_OPEN,    /* may it be opened? Nothing was resolved or dialled. */
    FLOW_ASK_PRIVATE, /* the name leads to a private address: verdict.missing says which */
    FLOW_ASK_REQUEST, /* one HTTP request of an open flow: method and path */
    FLOW_ASK_MORE,    /* the upload's limit is reached (verdict.reason: UPLOAD or BUDGET_BYTES) */
};

/* A row of the journal. flow NULL: a burst of refusals, or an alert. Borrowed for the call. */
enum flow_row {
    FLOW_ROW_OPEN,    /* egress.open, before the dial */
    FLOW_ROW_CLOSE,   /* egress.close */
    FLOW_ROW_DENY,    /* egress.deny */
    FLOW_ROW_REQUEST, /* egress.request: an HTTP response came */
    FLOW_ROW_BURST,   /* egress.deny of many */
};
#define FLOW_BURST_SAMPLES 20
struct flow_sample {
    char what[FLOW_AUTHORITY_MAX];
    enum reason reason;
    uint64_t count;
};
struct flow_record {
    enum flow_row row;
    const struct flow *flow;
    const char *end, *end_reason; /* CLOSE: a word of FLOW_ENDS, and a fixed code or "" */
    int64_t ms;                   /* since open (CLOSE), of the burst */
    uint64_t count;               /* DENY: how many the row stands for; BURST */
    const struct flow_sample *samples;
    size_t sample_count;
};

/* Where all goes that is not for a flow to do. None may be NULL but those that say so. */
struct flow_ops {
    void (*send)(const void *message, size_t len, int fd, void *user);
    /* Answer: flows_resolved. */
    void (*resolve)(uint64_t flow, const char *name, void *user);
    /* Answer: flows_dialed. */
    void (*dial)(uint64_t flow, const struct dial_target *target, void *user);
    /* The answer of resolve or dial is not wanted any more. */
    void (*drop)(uint64_t flow, void *user);
    /* Answer for OPEN (only): flows_recorded, when it is committed or has failed. */
    void (*record)(const struct flow_record *record, void *user);
    /* A finding: floods, names that look like data. At most a few a minute. */
    void (*alert)(const char *text, void *user);
    /* The addresses of this host now; as dial_own_addresses. */
    int (*own)(struct address *ret_own, size_t max, void *user);
    /* Answers that hold, for policy_decide: borrowed until the next call. May be NULL: none. */
    size_t (*grants)(const struct request *request, const struct grant **ret_grants, void *user);
    /* The grant served. May be NULL. */
    void (*used)(const struct grant *grant, void *user);
    /* A question about flow->asked. Returns its number; the answer comes by flows_answer, also from inside of
     * the call. 0: it cannot be asked, *ret_reason says why (REASON_NO_UI, _REPEAT, _ASK_QUOTA, _LOG). NULL:
     * nothing is ever asked (REASON_NO_UI). */
    uint64_t (*ask)(const struct flow *flow, enum reason *ret_reason, void *user);
    /* The flow has gone: its question, or its wait for an answer, is not about a waiting stream any more. May
     * be NULL. */
    void (*withdraw)(const struct flow *flow, void *user);
    /* The time of now, for an answer that comes by itself. May be NULL: that of flows_set_time. */
    void (*time)(int64_t *ret_ms, int64_t *ret_s, void *user);
    /* N.request.hutch.internal: flows_reply when request N is answered. May be NULL: unknown number. */
    void (*wait)(uint64_t flow, uint64_t request_id, void *user);
    /* REPO.push.hutch.internal, REPO.fetch.hutch.internal, all.turn.hutch.internal (an agent has ended a
     * turn: what it made is to come out): flows_reply when the host has done it. May be NULL. */
    void (*git)(uint64_t flow, enum flow_git what, const char *repo, void *user);
};

/* How a question was answered. */
struct flow_answer {
    bool allow;
    enum reason reason;        /* of a denial: PERSON, WAITING, TIMEOUT, NO_UI, REPEAT, ASK_QUOTA, GONE */
    const char *words;         /* typed with a denial, or NULL: for the program that asked */
    const struct grant *grant; /* that the allowance made; NULL: for this flow alone. Copied. */
    uint64_t bytes;            /* FLOW_ASK_MORE: how many more */
    struct address private_address; /* FLOW_ASK_PRIVATE: the one that was said yes to */
};

struct flows;
/* project: its id, for grants; copied. */
struct flows *flows_create(const char *project, const struct flow_ops *ops, void *user);
/* Closes all (flows_lost) without a word to the worker. */
void flows_destroy(struct flows *flows);

/* Times are passed in: milliseconds that only grow, seconds since 1970. Before each of the calls below. */
void flows_set_time(struct flows *flows, int64_t now_ms, int64_t now_s);
/* A checked message of the worker. false: it has no place (an id twice, more bytes than credit …): the worker
 * is broken or taken over. */
bool flows_take(struct flows *flows, const void *message);
/* The worker is gone: every flow is closed with "lost". */
void flows_lost(struct flows *flows);
/* Where connections go from now on: through this proxy (copied), or straight (NULL, at first). */
void flows_set_proxy(struct flows *flows, const struct proxy *proxy);
/* Another policy (a reference is taken; NULL: everything is denied): every flow is judged again by its
 * recorded request, and cut if it would not be allowed now. */
void flows_set_policy(struct flows *flows, struct policy *policy);
/* A grant was taken back (ops->grants no longer has it): flows that it allowed are judged again, and cut
 * where nothing else lets them. */
void flows_revoke(struct flows *flows, uint64_t grant_id);
/* The journal cannot be written (or can again): nothing new is allowed meanwhile. */
void flows_set_log(struct flows *flows, bool works);
void flows_resolved(struct flows *flows, uint64_t flow, const struct resolver_answer *answer);
void flows_recorded(struct flows *flows, uint64_t flow, bool written);
/* Takes over result->fd. */
void flows_dialed(struct flows *flows, uint64_t flow, const struct dial_result *result);
void flows_answer(struct flows *flows, uint64_t flow, const struct flow_answer *answer);
/* Answers a reserved name with JSON. */
void flows_reply(struct flows *flows, uint64_t flow, const char *body);
/* Ends a flow by hand ("close" on the screen). false: there is none. */
bool flows_cut(struct flows *flows, uint64_t flow, const char *reason);
/* Writes what has gathered. Returns after how many ms it wants to be called again; -1: not. */
int64_t flows_tick(struct flows *flows);

/* The living ones, newest first; borrowed until the next call. */
const struct flow *flows_first(const struct flows *flows);
/* Bytes up and down in the last full second. */
void flows_rate(const struct flows *flows, uint64_t *ret_up, uint64_t *ret_down);
struct budget *flows_budget(struct flows *flows);

/* What policy_decide says to an authority as a program would ask for it: the very function of the flows, for
 * `rule test`. proto ANY: not given; session NULL: of none. *ret_request is filled if it returns true, else
 * the form is wrong. */
bool flow_decide(const struct policy *policy, const char *authority, size_t len, enum proto proto,
                 const char *project, const char *session, const struct grant *grants, size_t grant_count,
                 int64_t now_s, struct request *ret_request, struct verdict *ret_verdict);
/* The body of a refusal, JSON, at most FLOW_BODY_MAX with its NUL. host NULL: the form was wrong. */
void refusal_body(const struct request *request, const struct verdict *verdict, const char *words,
                  uint64_t request_id, char ret[FLOW_BODY_MAX]);

#endif
