/* net.h: connections of all projects as the screen remembers them, a row each: from the journal's egress
 * rows, and from hutchd's list of living flows while somebody looks. Text is made safe as it comes in.
 * Positions count from the first row that ever came; those below `first` were dropped. */
#ifndef HUTCH_UI_NET_H
#define HUTCH_UI_NET_H

#include "ui/grid/grid.h"
#include "ui/model/effect.h"

#define NET_MAX     16384 /* rows remembered; `hutch log` has the rest */
#define NET_OPEN    1024  /* connections whose end is waited for */
#define NET_FLOWS   512   /* that are asked about and have no row yet */
#define NET_SAMPLES 60    /* seconds of the rate's line */

struct app;

struct conn {
    uint64_t number;                    /* identity: never 0, never given twice */
    uint32_t project;                   /* events_project's number */
    int64_t ts_ns, ms, up, down, count; /* count: connections that the row stands for; -1: not known */
    char *conn, *process, *target, *host, *address, *verdict, *rule, *why, *missing; /* safe but for conn */
    bool open, refused, live; /* open: its end has not come; live: hutchd says that it lives */
    json_t *json;             /* all that is known; text in it is not safe yet */
};
struct net_host {
    char *name;
    int64_t count, refused, up, down, last_ns;
    size_t open;
    uint64_t number;
};
/* Zeroed it is empty. */
struct net {
    struct conn **ring; /* NET_MAX of them, NULL at first */
    size_t first, end;
    struct conn *open[NET_OPEN];
    size_t open_count;
    struct conn flows[NET_FLOWS]; /* living ones that have no row: those that wait for an answer */
    size_t flow_count, living;
    uint64_t call, project; /* call: the flows that are out; project: whose they are */
    int64_t due_ns, asked_ns;
    bool shown, by_host;
    struct net_host *hosts;
    size_t host_count;
    uint64_t samples[NET_SAMPLES], total; /* bytes of each second, the newest last */
    size_t sample_count;
};

void net_finish(struct net *net);
/* Takes an event; what is no connection is left alone. */
void net_event(struct app *app, const json_t *json);
/* A row by its position, or its number; NULL: dropped or never here. */
const struct conn *net_at(const struct net *net, size_t position);
const struct conn *net_find(const struct net *net, uint64_t number);
size_t net_end(const struct net *net);
void net_show(struct app *app, struct effects *effects);
void net_hide(struct app *app, struct effects *effects);
/* Something of the selected project's connections changed. */
void net_news(struct app *app);
int64_t net_tick(struct app *app, struct effects *effects);
/* Folds the rows to one a host, and back. */
void net_fold(struct app *app);
/* Bytes a second of the last minute as characters, "" if nothing was seen. The caller's to free. */
char *net_rate_line(const struct app *app, int columns);

#endif
