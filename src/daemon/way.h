/* way.h: the ways out: of each project its flows (egress/flow.h), its rules as they are now, and what carries
 * them: one resolver, one writer of the journal and one watch on the files of rules for all. Loop thread. */
#ifndef HUTCH_DAEMON_WAY_H
#define HUTCH_DAEMON_WAY_H

#include "daemon/daemon.h"

#include <jansson.h>

struct ways;
struct way;

/* Reports connections that the hutchd before left open. */
struct ways *ways_create(struct daemon *daemon);
/* Closes every flow and writes what is to be written. */
void ways_destroy(struct ways *ways);

/* ---- the machine's side ---- */
/* The machine has a guest now (or another one), or none (NULL): all its flows have ended. */
void way_attach(struct daemon *daemon, const char *id, struct guest *guest);
/* Its hutch-guest answers now. */
void way_guest_up(struct daemon *daemon, const char *id);
/* A checked message of flow_proto.h. false: it has no place. */
bool way_take(struct daemon *daemon, const char *id, const void *message);
void way_lost(struct daemon *daemon, const char *id);
/* The project is gone. */
void way_forget(struct daemon *daemon, const char *id);

/* ---- the API's side ---- */
/* The way of a project, made with its rules if nobody asked yet. NULL: the project is gone. */
struct way *way_get(struct daemon *daemon, const char *id);
/* Why the files of rules are not what counts now, or NULL. */
const char *way_banner(const struct way *way);
/* Why presets of the machine's own hosts give nothing, and what to do; or NULL. */
const char *way_notice(const struct way *way);
/* Reads all files of rules anew, now. */
void ways_reload(struct daemon *daemon);
/* The living flows; the rules as they are now ("id source text decision hits last_ns"; hits since hutchd's
 * start) and behind them the grants; rules that the journal suggests: arrays. New references. */
json_t *way_flows(struct way *way);
json_t *way_rules(struct way *way);
/* A job whose lines are those of way_rules, each rule of the files with "past" and "past_ns" too: how many
 * connections it would have decided of those that the journal remembers (past.h), and when the last one was;
 * and whose result is `result` (taken over) with "past_rows" and "past_other". */
struct job *way_rules_past(struct way *way, json_t *result);
json_t *way_suggest(struct way *way);
/* `rule test`: what the flows' own decision says to "host:port" now, with the grants that hold for session
 * (NULL: for who has none). New reference. */
json_t *way_test(struct way *way, const char *authority, const char *session);
/* Writes a rule into the project's file (all: into rules.ini of all projects), in its canonical form. Noted
 * in the journal before. Then all files are read. */
int way_rule_add(struct way *way, const char *text, bool all, json_t **ret_json, struct error **err);
/* Takes out a rule of that file by its id or text; or, where there is none, grants of the project by their
 * word or text: their connections are cut unless something else lets them. */
int way_rule_remove(struct way *way, const char *word, bool all, struct error **err);
/* A grant was taken back: connections of the project (NULL: of every one) that it let through are judged
 * again. */
void ways_revoke(struct daemon *daemon, const char *id, uint64_t grant);
/* The host ports as they are now: array of {"name","host","port","to"}. New reference. */
json_t *way_host_ports(struct way *way);
/* Writes a host port into the project's file, or takes one out. port 0: that of `to`. Noted in the journal
 * before. Then all files are read. */
int way_host_port_add(struct way *way, const char *name, const char *to, uint16_t port, json_t **ret_json,
                      struct error **err);
int way_host_port_remove(struct way *way, const char *name, struct error **err);
/* A word for `show` and `ls`: "ask", … "deny" without rules; NULL: not loaded yet. Reads no files. */
const char *way_mode(struct daemon *daemon, const char *id);
/* Sets egress (way_mode) and net_rate, bytes a second both ways; in mode budget what was sent of it in this
 * hour: budget_used of budget_max bytes, budget_names of budget_names_max. */
void way_show_use(struct daemon *daemon, const char *id, json_t *json);
/* Writes the file of a new project with its mode; one that is there stays, if it says the same. */
int way_begin(struct daemon *daemon, const char *name, const char *mode, struct error **err);
/* Whether a project that is there has the mode that a request names; else ERROR_EXISTS, which says where it
 * is changed. */
int way_same(struct daemon *daemon, const char *id, const char *mode, struct error **err);

#endif
