/* review.h: what came out of a machine, as a person reads it before it lands: a push, or any ref of the
 * quarantine. Its numbers and what of it would run here, its commits, its files, what differs. What was read
 * is one commit: that, and nothing that was pushed meanwhile, is landed. */
#ifndef HUTCH_UI_REVIEW_H
#define HUTCH_UI_REVIEW_H

#include "ui/model/diff.h"
#include "ui/model/inbox.h"

#define REVIEW_COMMITS 500 /* shown */
#define REVIEW_SPLIT   120 /* columns from which on old and new stand beside each other */
#define REVIEW_WARNED  6   /* of what runs here, named in a question */

struct review_commit {
    char *raw_id, *id, *subject, *body, *author, *mail, *committer; /* safe but for raw_id */
    int64_t time_ns;
};
/* What tools here would run or obey. */
struct review_kept {
    char *path, *class, *change, *target;
};
struct review_fact {
    char *label, *text;
    enum style style;
};
enum review_part {
    REVIEW_FACT,
    REVIEW_TITLE,
    REVIEW_KEPT,
    REVIEW_COMMIT,
    REVIEW_FILE,
    REVIEW_NOTE,
    REVIEW_BLANK
};
struct review_row {
    enum review_part part;
    size_t index;
    char *text; /* of TITLE and NOTE */
};
/* What is to be opened: names as the API takes them. */
struct review_target {
    uint64_t project, request; /* request 0: none is known */
    const char *repo, *ref, *branch;
};
/* Zeroed it is empty. */
struct review {
    uint64_t project, request;
    char *raw_repo, *raw_ref,
        *raw_branch; /* raw_branch: as the machine calls it; NULL: as the summary does */
    char *project_name, *repo, *name, *as; /* as: the branch that it becomes */
    char *tip;                             /* what is read; NULL: not known yet */
    char *failure;
    json_t *summary, *asked;           /* asked: the request as hutchd has it; text in them is not safe yet */
    char *state, *by, *reason, *newer; /* newer: what the request is of by now, NULL: of what is read */
    enum request_tier class;
    struct review_commit *commits;
    size_t commit_count;
    bool commits_known, commits_more;
    struct review_kept *kept;
    size_t kept_count;
    struct review_fact *facts;
    size_t fact_count;
    struct review_row *rows;
    size_t row_count;
    struct diff all, one; /* all of it; one commit of it */
    struct diff *shown;   /* by VIEW_DIFF */
    uint64_t summary_call, log_call, request_call;
    bool mine;      /* it was answered here: that is no news */
    bool sent;      /* an answer, or a landing, is on its way */
    bool words_off; /* words that changed are not shown */
    int split;      /* 0: by the width; 1: beside each other, -1: not */
};

/* Opens it in place of what was open, and its view. */
void review_open(struct app *app, const struct review_target *target, struct effects *effects);
/* The same of the request that is shown as a prompt. */
void review_open_prompt(struct app *app, struct effects *effects);
void review_finish(struct review *review);
/* Reads it anew: what is there by now. */
void review_again(struct app *app, struct effects *effects);
/* Something of it came in. */
void review_news(struct app *app);
/* The inbox changed: its request may be over, or be of another commit. */
void review_check(struct app *app, struct effects *effects);
/* Whether its request waits for an answer. */
bool review_waits(const struct review *review);
/* What is to be asked for; ret: when to come again, 0: not at all. */
int64_t review_tick(struct app *app, struct effects *effects);
/* Whether old and new are to stand beside each other; makes it so, the line under the cursor stays under it.
 */
bool review_splits(const struct app *app);
void review_split(struct app *app, bool split);
/* Opens the difference at a file; or that of one commit. */
void review_open_file(struct app *app, size_t file, struct effects *effects);
void review_open_commit(struct app *app, size_t commit, struct effects *effects);

/* ---- review_text.c ---- */
/* Makes facts and rows anew. */
void review_build(struct app *app);

/* ---- review_act.c: for both views ---- */
const char *review_able(const struct app *app, enum action action);
void review_words(const struct app *app, enum action action, struct act_words *out);
char *review_twin(const struct app *app, enum action action);
bool review_act(struct app *app, enum action action, struct effects *effects);
const char *review_says(const struct app *app, enum action action);
/* The name of what is read, with its commit, so that a question is of that alone. The caller's to free. */
char *review_label(const struct app *app);
/* Why it is rejected, as typed. */
void review_typed(struct app *app, const char *text, struct effects *effects);

#endif
