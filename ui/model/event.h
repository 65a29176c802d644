/* event.h: the events that the screen remembers: a ring of the newest, with a command's start and end joined
 * into one. Text is made safe as it comes in. Positions count from the first event that ever came; those
 * below `first` were dropped. */
#ifndef HUTCH_UI_EVENT_H
#define HUTCH_UI_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENTS_MAX   100000 /* remembered; `hutch log` has the rest */
#define EVENTS_FIRST 2000   /* asked for at the start */
#define EVENTS_EACH  500    /* and of each project, however much the others did since */
#define EVENTS_PAGE  500    /* older ones of a project, asked for when a person goes to its first */
#define EVENTS_OPEN  256    /* commands whose end is waited for */

enum event_group { EVENT_EXEC, EVENT_LIFECYCLE, EVENT_FILE, EVENT_GIT, EVENT_FINDING, EVENT_OTHER };

struct event {
    int64_t seq; /* identity */
    int64_t ts_ns, ms;
    size_t parent, child, last_child, sibling; /* positions + 1; 0: none */
    char *subject, *session, *actor, *detail;  /* safe; session and detail may be NULL */
    char *text;                                /* what is shown of it, NULL: the subject */
    uint32_t project, children;                /* project: number of its name, from 1; 0: none */
    int exit;
    int16_t kind; /* index of events.kinds */
    uint8_t group;
    bool started, ended, failed, timed_out;
    bool with_machine; /* ended with it: when and how is not known */
};
struct events {
    struct event *ring;
    size_t first, end, room; /* positions; room: size of the ring, a power of 2 */
    size_t most;             /* remembered at most: EVENTS_MAX, less in tests */
    int64_t last_seq, first_seq;
    uint64_t dropped;
    bool cut;       /* the first load left older ones out */
    char **names;   /* of projects, by number - 1 */
    int64_t *begun; /* by the same number: of the newest making of a project of that name, 0: not here */
    bool *complete; /* by the same number: nothing older of it is to be had */
    size_t name_count;
    char **kinds;
    size_t kind_count, kind_most;
    size_t open[EVENTS_OPEN]; /* positions + 1 of commands without an end, oldest first */
    size_t open_count;
    size_t changed; /* lowest position whose event changed since the reader looked; SIZE_MAX: none */
};

void events_init(struct events *events);
void events_finish(struct events *events);
/* Takes a line of GET /v1/events. The position that is new or changed, or SIZE_MAX: it is none, or was here
 * already. *ret_new: a new one was appended. */
size_t events_take(struct events *events, const json_t *json, bool *ret_new);
/* The lowest number of a project's that is here; 0: none. */
int64_t events_oldest(const struct events *events, uint32_t project);
/* Whether a page of older ones would still have room. */
bool events_room(const struct events *events);
/* Takes over the events of `older` (taken in order, all of them before what is here of their project), each
 * to its place by its number; `older` is empty then. Positions are others after it, numbers are not. */
void events_merge(struct events *events, struct events *older);
struct event *events_at(const struct events *events, size_t position);
/* Binary search by seq; NULL: dropped or never here. */
struct event *events_find(const struct events *events, int64_t seq, size_t *ret_position);
/* Whether commands end with an event of this kind. */
bool events_ends_machine(const char *kind);
const char *event_kind(const struct events *events, const struct event *event);
/* The number of a project's name (as hutchd has it), 0: no event of it. */
uint32_t events_project(const struct events *events, const char *name);
/* The command of a session (safe text) of a project that has its name now: the newest that began by ts_ns.
 * NULL: it is not remembered. */
const struct event *events_command(const struct events *events, uint32_t project, const char *session,
                                   int64_t ts_ns);
/* Whether an event is of the project that has its name now, not of one that was removed. */
bool event_present(const struct events *events, const struct event *event);
const char *event_text(const struct event *event);
const char *event_project(const struct events *events, const struct event *event);
/* "ok", "exit 1", "runs", "failed", "timed out"; "" for what has no outcome. ret: at least 24 bytes. */
void event_outcome(const struct event *event, char ret[24]);

#endif
