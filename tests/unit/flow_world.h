/* flow_world.h: the flows of one project with a worker, a resolver, a network, a person and a journal that
 * are made of arrays, and a clock that the test moves. */
#ifndef HUTCH_TESTS_FLOW_WORLD_H
#define HUTCH_TESTS_FLOW_WORLD_H

#include "test_base_scratch.h"

#include "egress/flow.h"
#include "worker/proto.h"

#include <fcntl.h>

#define WORLD_MESSAGES 4096
#define WORLD_ROWS     4096

/* A row as it was written, with what of its flow the tests look at. */
struct row {
    enum flow_row row;
    uint64_t flow, count, up, down;
    size_t samples;
    enum verdict_effect effect;
    enum reason reason;
    char authority[FLOW_AUTHORITY_MAX], end[16], end_reason[48], failure[48];
    char used[ADDRESS_FORMAT_MAX];
};
/* The last word to the worker about a flow, and how often each kind came. */
struct heard {
    bool allowed, refused, replied, dialed, dial_failed, cut;
    uint32_t status, proto, flags;
    uint64_t credit;
    unsigned request_ok, request_refused;
    char body[FLOW_BODY_MAX], reason[48];
};
struct world {
    struct flows *flows;
    struct policy *policy;
    int64_t ms, s;
    uint64_t next_flow, generation;
    struct row rows[WORLD_ROWS];
    size_t row_count;
    struct heard *heard; /* by flow */
    /* the resolver */
    char lookups[WORLD_MESSAGES][64];
    uint64_t lookup_flows[WORLD_MESSAGES];
    size_t lookup_count;
    const char *answers; /* addresses by blanks; NULL: no answer yet */
    const char *failure;
    /* the network */
    struct dial_target dialed[64];
    size_t dial_count, drops;
    const char *dial_failure;
    bool hold_dials;
    /* the journal */
    bool hold_rows, journal_fails;
    /* a person */
    uint64_t asked; /* number of the last question */
    uint64_t asked_flow;
    size_t ask_count, withdrawn;
    enum flow_question question;
    enum reason asked_reason;
    char asked_missing[REQUEST_RULE_MAX];
    bool nobody;
    const struct grant *grants;
    size_t grant_count;
    size_t alerts;
    char last_alert[512];
    uint64_t waits;
    char git[64]; /* "push REPO", "fetch REPO": the last */
    struct address own[4];
    int own_count;
};

#define RULES(...) ((const char *const[]){__VA_ARGS__, NULL})

extern const struct flow_ops world_ops;
struct world *world_open(const char *proxy);
void world_close(struct world *world);
/* Rules one a string, NULL-ended; an "@" before a rule puts it into the user's layer. */
void world_policy(struct world *world, enum policy_mode mode, const char *const *rules);
/* Sends FLOW_ASK; returns the flow's number. */
uint64_t world_ask(struct world *world, const char *authority);
uint64_t world_ask_by(struct world *world, const char *authority, enum flow_entrance entrance);
bool world_ready(struct world *world, uint64_t flow);
bool world_need(struct world *world, uint64_t flow, uint64_t up);
bool world_stat(struct world *world, uint64_t flow, uint64_t up, uint64_t down);
bool world_end(struct world *world, uint64_t flow, enum flow_end end, uint64_t up, uint64_t down,
               const char *reason);
void world_pass(struct world *world, int64_t ms);
/* How many rows of this kind there are. */
size_t world_rows(const struct world *world, enum flow_row row);
const struct row *world_last(const struct world *world, enum flow_row row);

#endif
