/* rules.h: the rules of the selected project in the order in which hutchd lists them, with how often each was
 * used; and the rule that is being written. */
#ifndef HUTCH_UI_RULES_H
#define HUTCH_UI_RULES_H

#include "ui/model/effect.h"

#define RULES_MAX 20000      /* shown */
#define RULE_NEW  UINT64_MAX /* the identity of the rule that is being written */

struct app;

struct rule_row {
    uint64_t number;                                              /* identity: never 0, never given twice */
    char *raw_id, *raw_source, *layer, *source, *text, *decision; /* safe but for raw_… */
    char *scope, *session; /* of an answer that holds: "session", "duration", "next" …; else "" */
    int64_t line, hits, last_ns, expires_ns;
    int64_t past, past_ns; /* connections that it would have decided; -1: not known */
    bool seen;
};
/* Zeroed it is empty. */
struct rules {
    struct rule_row *list;
    size_t count;
    uint64_t last, call, project; /* call: the list that is out; project: whose it is */
    bool known;
    char *failure, *mode, *problem;
    char *write_project, *write_path,
        *write_text; /* a rule that is typed, or waits for its yes: as hutchd has the name */
};

void rules_finish(struct rules *rules);
/* Begins to type a rule for a project, from a proposal. */
void rules_write(struct app *app, const char *raw_project, const char *text);
/* It was typed: it is asked whether it is meant. */
void rules_typed(struct app *app, const char *text, struct effects *effects);

#endif
