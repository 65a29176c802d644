/* events.h: the journal as a stream of lines: what is there, then what comes. Loop thread. */
#ifndef HUTCH_DAEMON_EVENTS_H
#define HUTCH_DAEMON_EVENTS_H

#include "daemon/daemon.h"
#include "wire/h2.h"

struct events *events_create(struct daemon *daemon);
void events_destroy(struct events *events);

struct events_query {
    char *project, *kind, *session;         /* owned; NULL: all */
    int64_t after, before, since_ns, limit; /* before: seq < this; 0: no bound */
    int64_t
        each; /* with limit, at the start: also the newest `each` of every project that is there; 0: not */
    int64_t begin; /* the lowest number that is wanted; 0: any */
    bool follow;
};
/* Answers the stream; takes over the strings of the query. */
void events_stream(struct daemon *daemon, struct h2_stream *stream, const struct events_query *query);

#endif
