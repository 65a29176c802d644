/* work.h: what hutchd is doing for the person, step by step: the making of a project, a start, a removal, the
 * build of a base. It goes on whether it is looked at or not. */
#ifndef HUTCH_UI_WORK_H
#define HUTCH_UI_WORK_H

#include "ui/model/action.h"
#include "ui/model/effect.h"
#include "ui/model/message.h"

#define WORKS_MAX 64  /* remembered; the oldest that ended go first */
#define STEPS_MAX 200 /* of one work; later ones take the place of the last */

struct app;

enum work_kind { WORK_PROJECT, WORK_TEMPLATE };
enum work_state { WORK_RUNS, WORK_DONE, WORK_FAILED };
struct work_step {
    char *phase, *text; /* safe */
    char *line, *brief; /* text with how much of it is done; the same where there is little room */
    int64_t done, total, begun_ns;
    bool bytes, warning;
};
struct work {
    uint64_t batch;         /* of acts on several rows, 0: alone */
    uint64_t number, entry; /* entry: its line in the log of acts */
    enum work_kind kind;
    enum work_state state;
    enum action action;
    char *raw_name, *name; /* of the project or template; name is safe */
    struct work_step *steps;
    size_t count;
    char *message, *hint; /* why it failed */
    enum error_code code;
    int64_t begun_ns, ended_ns;
};
/* Zeroed it is empty. */
struct works {
    struct work *list; /* oldest first */
    size_t count;
    uint64_t last, shown; /* shown: the one that VIEW_PROGRESS is of */
};

void works_finish(struct works *works);
/* Begins one. Returns its number. */
uint64_t work_begin(struct app *app, enum work_kind kind, const char *raw_name, enum action action,
                    uint64_t entry);
struct work *work_find(const struct app *app, uint64_t number);
/* The newest one of a project or template (hutchd's name of it), or NULL. */
struct work *work_named(const struct app *app, enum work_kind kind, const char *raw_name);
/* Takes a line of progress, or the answer. */
void work_take(struct app *app, uint64_t number, const struct message *message);
/* What it does just now, in few words; "" before the first word of it. Not the caller's. */
const char *work_now(const struct work *work);
/* Whether something runs, so that what it takes grows. */
bool works_run(const struct app *app);
/* Opens the progress of a work. */
void work_show(struct app *app, uint64_t number, struct effects *effects);

#endif
