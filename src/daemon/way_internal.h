/* way_internal.h: between way.c, way_policy.c, way_rules.c, way_ports.c, way_log.c and way_show.c. */
#ifndef HUTCH_DAEMON_WAY_INTERNAL_H
#define HUTCH_DAEMON_WAY_INTERNAL_H

#include "daemon/way.h"
#include "daemon/inbox_grants.h"
#include "daemon/rules.h"
#include "egress/flow.h"
#include "image/image.h"

struct hit {
    char rule[INBOX_GRANT_WORD_MAX]; /* or the word of a grant */
    uint64_t count;
    int64_t last_ns;
};
struct errand;
struct resolver;
struct way_log;

/* All of them. */
struct ways {
    struct daemon *daemon;
    struct way *first;
    struct resolver *resolver;
    struct way_log *log;
    char *run; /* names this hutchd's connections */
    uint64_t generation;
    uv_timer_t reload;
    uv_fs_event_t watches[3];
    size_t watch_count;
};

/* One project's. */
struct way {
    struct way *next;
    struct ways *ways;
    struct daemon *daemon;
    char id[PROJECT_ID_MAX];
    struct flows *flows;
    struct policy *policy; /* NULL: no rules were ever valid */
    struct guest *guest;
    char *banner;
    struct errand *errands;
    uint64_t boot; /* counts workers: makes a flow's number one of all */
    struct hit *hits;
    size_t hit_count;
    uv_timer_t tick;
    /* What the machine itself says of where its packages come from, but for what its base says. */
    struct package_host *guest_hosts;
    size_t guest_host_count;
    struct guest_ask *guest_ask; /* or NULL */
    char *notice;                /* why its presets give nothing, or NULL */
    uint64_t kept;               /* the change of its budget that is in state.db */
    int64_t kept_ms;             /* since when, monotonic */
};

/* ---- way_budget.c ---- */
/* What hutchd before wrote; flows were just made. */
void way_budget_load(struct way *way);
/* Writes what has changed. */
void way_budget_save(struct way *way);
/* The same, once a second: ms until it wants to be called again, -1: at the next change. */
int64_t way_budget_tick(struct way *way);

/* ---- way_rules.c ---- */
/* Reads presets, rules.ini and projects/NAME.ini and compiles them (rules.h). Sets way->notice. */
int way_load(struct way *way, uint64_t generation, struct policy **ret_policy, struct error **err);
/* Makes the first file of a project that has none: default = ask. */
void way_make_file(struct daemon *daemon, const char *id);
/* way_proxy.c: [network] proxy of the user's hutch.ini; NULL: none. proxy_destroy it. */
int way_proxy(struct daemon *daemon, struct proxy **ret_proxy, struct error **err);
/* The project's name; NULL: it is gone. Caller frees. */
char *way_project_name(struct way *way, struct error **err);
/* Whether it is being removed, or gone. */
bool way_project_ends(const struct way *way);

/* ---- way_guest.c ---- */
/* Asks the machine, once it is ready, where its package tools fetch from, and reads the rules anew if that
 * has changed. */
void way_guest_ask(struct way *way);
/* Gives up a question that is under way. */
void way_guest_drop(struct way *way);
/* The hosts of a base and of the machine, for rules_load: at most max. */
size_t way_guest_hosts(const struct way *way, const struct base *base, struct rules_guest_host *ret_hosts,
                       size_t max);

/* ---- way.c ---- */
/* Its flows, with the time of now: before each call into them. */
struct flows *way_now(struct way *way);
/* After each call: plans when they want to be looked at again. */
void way_plan(struct way *way);

/* ---- way_policy.c ---- */
/* Reads the rules of one project anew. */
void way_reload(struct way *way);
/* Watches the folders of rules: what changes there is read. */
void ways_watch(struct ways *ways);

/* ---- way_log.c: rows of the journal, written in groups by a thread ---- */
/* done is called on the loop for each row with a flow. */
struct way_log *way_log_create(struct daemon *daemon,
                               void (*done)(const char *project, uint64_t flow, bool written, void *user),
                               void *user);
/* Writes what is queued, then frees. */
void way_log_destroy(struct way_log *log);
/* Queues a row (event is copied). flow 0: nobody waits for it. */
void way_log_add(struct way_log *log, const char *project, const struct event *event, uint64_t flow);

/* Notes each connection that the hutchd before began and whose end is not in the journal. */
void way_report_left(struct daemon *daemon);

/* ---- way_show.c ---- */
/* A flow as the API shows it. New reference. */
json_t *way_show_flow(const struct flow *flow, int64_t now_ms);
/* The row of a record: strings belong to *ret_data and *ret_subject, which the caller frees. conn: names the
 * connection over restarts. */
void way_fill_event(const struct flow_record *record, const char *conn, struct event *ret_event,
                    char **ret_subject, char **ret_data);
/* What policy says to a request, for `rule test`. New reference. */
json_t *way_show_verdict(const struct request *request, const struct verdict *verdict);

#endif
