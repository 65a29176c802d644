/* session.h: the sessions of the selected project, as hutchd lists them: text made safe once. */
#ifndef HUTCH_UI_SESSION_H
#define HUTCH_UI_SESSION_H

#include "ui/model/effect.h"

#define SESSIONS_MAX 500 /* shown; hutch-guest keeps 64 that run and 64 that ended */

struct app;

struct session {
    uint64_t number; /* identity: never 0, never given twice */
    char *raw_id;    /* for paths of the API */
    char *id, *command, *cwd, *user, *label, *state;
    bool pty, attached, timed_out, seen;
    int64_t exit_status, signal, started_ns, ended_ns, out_total, max_rss, cpu_us, pid;
};
/* Zeroed it is empty. */
struct sessions {
    struct session *list;
    size_t count;
    uint64_t last;            /* number that was given last */
    uint64_t project;         /* whose they are */
    uint64_t call;            /* the list that is out, 0: none */
    int64_t due_ns, asked_ns; /* due_ns: when to ask next, 0: not */
    bool known;
    char *failure; /* why they are not known */
};

void sessions_finish(struct sessions *sessions);
struct session *sessions_find(const struct sessions *sessions, uint64_t number);
/* Runs, or will at once. */
bool session_runs(const struct session *session);
/* Its state in a word, in the person's language. Not the caller's. */
const char *session_state(const struct session *session);
/* Whether one that runs is to be seen, so that what it takes grows. */
bool sessions_run(const struct app *app);
/* Milliseconds that it took, or takes so far; -1: not known. */
int64_t session_took(const struct session *session, int64_t now_ns);

/* The tab is shown for the selected project, or no longer. */
void sessions_show(struct app *app, struct effects *effects);
void sessions_hide(struct app *app, struct effects *effects);
/* A command of the selected project began or ended: its sessions are asked for, a little later. */
void sessions_news(struct app *app);
/* What is due; ret: when to come again, 0: not at all. */
int64_t sessions_tick(struct app *app, struct effects *effects);
/* A new shell in a project, or its newest terminal that runs (a new shell if there is none), in the pane. */
void sessions_shell(struct app *app, uint64_t project, struct effects *effects);
void sessions_terminal(struct app *app, uint64_t project, struct effects *effects);

#endif
