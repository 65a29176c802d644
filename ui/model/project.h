/* project.h: what hutchd says about projects, as safe text; and which of it is being asked for. Owns its
 * strings. */
#ifndef HUTCH_UI_PROJECT_H
#define HUTCH_UI_PROJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROJECTS_MAX 1000 /* shown; more are left out and said so */

struct project {
    uint64_t number;       /* identity: never 0, never given twice */
    char *key;             /* hutchd's id of it, to find it again */
    char *name, *raw_name; /* safe for the screen; as hutchd has it, for paths of the API */
    char *loses; /* that it holds work which exists nowhere else, as hutchd said when it was to go; or NULL */
    char *state, *agent, *template, *step, *failure, *folder, *egress;
    int64_t waiting, net_rate, disk, disk_size, memory, cpus, created_ns;
    int64_t frozen_for, frozen_ns;   /* of a request, 0: none; since when, 0: not known */
    int64_t stored_for;              /* it was saved for this request, 0: for none */
    int64_t budget_used, budget_max; /* bytes of this hour, -1: not known */
    bool emulated;
    bool seen;          /* in the list that is coming in */
    bool full;          /* `json` is the answer of GET /v1/projects/N, not a line of the list */
    json_t *json;       /* the last answer, for views that show more; text in it is not safe yet */
    uint64_t asked;     /* effect that asks for it anew, 0: none is out */
    bool again;         /* it changed since it was asked for */
    int64_t hot_ns;     /* asked again until then: something is being done with it */
    int64_t asked_ns;   /* when it was asked for last */
    int64_t refresh_ns; /* when to ask next, 0: not at all */
};
struct projects {
    struct project *list; /* in the order in which they were first seen */
    size_t count;
    uint64_t last; /* number that was given last */
    bool known;    /* the list came in once */
    char *failure; /* why the last list did not come, or NULL */
    bool too_many;
    bool has_agent, has_waiting, has_net; /* one had such a value since the screen opened */
};

void projects_finish(struct projects *projects);
/* Takes an object of hutchd: a new project is appended, a known one changed. NULL: it is none, or there are
 * too many. */
struct project *projects_take(struct projects *projects, const json_t *json, bool full);
/* A list begins, and ends: those that were not in it are gone. */
void projects_begin(struct projects *projects);
void projects_end(struct projects *projects);
void projects_remove(struct projects *projects, uint64_t number);
struct project *projects_find(const struct projects *projects, uint64_t number);
/* By hutchd's name of it. */
struct project *projects_named(const struct projects *projects, const char *raw_name);
/* Its state as the screen says it, "run", "FROZEN" …, in the person's language: never compared. Not the
 * caller's. */
const char *project_state(const struct project *project);
/* Whether it goes over into another one by itself. */
bool project_passing(const struct project *project);
/* Whether one stands still for a request: how long is shown, and grows. */
bool projects_frozen(const struct projects *projects);
/* What is to be said about it now: failure, step, or "". Not the caller's. */
const char *project_now(const struct project *project);
/* The path of an act on it, the rest ("/start", "?discard_work=1") as it is: with hutchd's id, by which
 * hutchd refuses it once the name is another project's. The caller's to free. */
char *project_api_path(const struct project *project, const char *rest);
/* "BUDGET 12K of 1M up" in that mode, else NULL. The caller's to free. */
char *project_budget(const struct project *project);

#endif
