/* git.h: what came out of the selected project's machine: its branches and work as hutchd's quarantine has
 * them, with what became of each push. */
#ifndef HUTCH_UI_GIT_H
#define HUTCH_UI_GIT_H

#include "ui/model/inbox.h"

#define GIT_ROWS_MAX 4000

struct git_row {
    uint64_t number;                                            /* identity */
    char *raw_repo, *raw_ref, *raw_commit;                      /* as the API takes them */
    char *repo, *ref, *kind, *name, *commit, *subject, *folder; /* safe; folder: of what is lost */
    int64_t commits, time_ns; /* commits: that the mirror has not, -1: not known */
    /* The push that brought it; request 0: none is known. */
    uint64_t request;
    char *state, *reason, *by;
    enum request_tier class;
    bool push; /* a push alone: its branch is another by now */
};
/* Zeroed it is empty. */
struct git {
    struct git_row *list;
    size_t count;
    uint64_t last, project; /* project: the number of the one that they are of */
    /* What is coming in. */
    struct git_row *next;
    size_t next_count;
    uint64_t calls[3];
    bool known, shown;
    char *failure;
    int64_t due_ns; /* when to ask again, 0: not */
};

void git_finish(struct git *git);
const struct git_row *git_find(const struct git *git, uint64_t number);
/* A request that waits for a person. */
bool git_waits(const struct git_row *row);
/* What became of it, in words: "WAITING #41", "landed as hutch/shop/fix", "rejected: …"; "" if it was never
 * pushed. The caller's to free. */
char *git_state(const struct git_row *row);
/* Asks for all of it. */
void git_ask(struct app *app, struct effects *effects);
/* Something of it changed: asks soon, if it is looked at. */
void git_news(struct app *app);
/* What is due; ret: when to come again, 0: not at all. */
int64_t git_tick(struct app *app, struct effects *effects);
/* Brings out what the machine has now. */
void git_fetch(struct app *app, struct effects *effects);
/* The view comes and goes. */
void git_show(struct app *app, struct effects *effects);
void git_hide(struct app *app, struct effects *effects);

#endif
