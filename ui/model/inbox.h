/* inbox.h: what waits for a person, over all projects, as hutchd lists it; and the one request that is shown
 * as a prompt, with what guards it: nothing is answered that was not looked at. */
#ifndef HUTCH_UI_INBOX_H
#define HUTCH_UI_INBOX_H

#include "ui/grid/grid.h"
#include "ui/model/action.h"
#include "ui/model/effect.h"

#define REQUESTS_MAX  4096 /* shown */
#define REQUEST_ARGV  64   /* words of a command, and bytes of it, from which on it can only be denied */
#define REQUEST_ARGS  4096
#define REQUEST_LIKES 16 /* that are answered together */

/* No answer key works for so long after a prompt came up or changed by itself; after the person moved. */
#define PROMPT_GUARD_NS (700 * INT64_C(1000000))
#define PROMPT_MOVED_NS (150 * INT64_C(1000000))

struct app;
struct call;
struct key_event;

/* How it looks and how it is answered; an unknown word is the last. */
enum request_tier { REQUEST_ROUTINE, REQUEST_UNUSUAL, REQUEST_CRITICAL };
enum request_scope { REQUEST_ONCE = 1, REQUEST_SESSION = 2, REQUEST_PROJECT = 4 };

struct request_row {
    uint64_t id;    /* hutchd's number, the identity */
    uint64_t batch; /* of the question that it is a line of: its own if it stands alone */
    char *project, *kind, *subject, *state, *session, *raw_project; /* safe but for raw_project */
    enum request_tier class;
    int64_t asked_ns, changed_ns;
    bool seen;
};

/* A line of the prompt, before it is broken to the width. */
enum prompt_kind {
    PROMPT_TEXT,  /* a label and its text, which hangs under itself */
    PROMPT_HEAD,  /* verb and object: what it is about */
    PROMPT_RULE,  /* a line across */
    PROMPT_ANSWER /* a key with what it does */
};
struct prompt_line {
    enum prompt_kind kind;
    enum style style;
    char *label, *text, *note; /* note: at the right end of the first line where there is room */
};
/* One that is answered together with it, as it was when the person asked for those like it. */
struct prompt_like {
    uint64_t id;
    char *subject, *nonce, *digest;
};
struct prompt {
    uint64_t id;  /* of the request that is shown, 0: none */
    json_t *json; /* hutchd's answer; text in it is not safe yet */
    char *nonce, *digest, *state, *project, *raw_project, *host;
    enum request_tier class;
    unsigned scopes;
    bool too_long; /* its command is more than can be judged: it is denied, or a rule is written */
    uint64_t call; /* that asks for it, 0: none */
    bool sent;     /* an answer is on its way */
    struct prompt_line *lines;
    size_t count, answers; /* answers: the first line of those that say what each answer does */
    /* As it was drawn last. */
    int64_t drawn_ns, guard_ns; /* drawn_ns: when it first was as it is now, 0: not yet */
    int top, total, room;       /* lines of the part that scrolls */
    bool end_seen;
    enum action pending; /* an allow that waits for `y` Enter */
    bool yes;
    bool like; /* the answer is for those like it too */
    struct prompt_like likes[REQUEST_LIKES];
    size_t like_count;
};
/* Zeroed it is empty. */
struct inbox {
    struct request_row *list; /* oldest first */
    size_t count;
    int64_t waiting;          /* of the last list that came whole */
    uint64_t call;            /* the list that is out, 0: none */
    int64_t due_ns, asked_ns; /* due_ns: when to ask again, 0: not */
    bool known;
    char *failure;
    struct prompt prompt;
    int64_t attended_ns; /* when hutchd was told last that a person is here */
};

/* The class in an answer of hutchd; what is not known is critical. */
enum request_tier request_tier(const json_t *json);
void inbox_finish(struct inbox *inbox);
struct request_row *inbox_find(const struct inbox *inbox, uint64_t id);
/* The line after this one of the same question, or (after the last) its first; 0: it has no other. */
uint64_t inbox_next_line(const struct inbox *inbox, uint64_t id);
/* Asks for the list: at once, or soon (something of it changed). */
void inbox_ask(struct app *app, struct effects *effects);
void inbox_news(struct app *app);
/* What is due; ret: when to come again, 0: not at all. */
int64_t inbox_tick(struct app *app, struct effects *effects);
/* A key came: hutchd is told that a person is here, every 30 s at most. */
void inbox_attend(struct app *app, struct effects *effects);
/* The request for which a project stands still, 0: none is known. */
uint64_t inbox_frozen_for(const struct app *app, const char *raw_project);
/* `a`: the list, or the prompt if only one waits. */
void inbox_open(struct app *app, struct effects *effects);

/* ---- prompt.c ---- */
void prompt_finish(struct prompt *prompt);
/* Shows a request in place of what was shown; the view is the caller's to open. */
void prompt_show(struct app *app, uint64_t id, struct effects *effects);
/* The list came in: what is shown may be another, or over. */
void prompt_check(struct app *app, struct effects *effects);
/* NULL if an act of it can be done now, else why not (not the caller's). */
const char *prompt_able(const struct app *app, enum action action);
/* The text of the rule that allowing for the project adds; "" if hutchd said none. The caller's to free. */
char *prompt_rule(const json_t *json);
bool prompt_do(struct app *app, enum action action, struct effects *effects);
/* prompt_keys.c */
bool prompt_key(struct app *app, const struct key_event *key, struct effects *effects);
/* Answers it, and those like it if that was wished; says why if it cannot be now. */
void prompt_answer(struct app *app, enum action action, const char *reason, struct effects *effects);
/* A line that was typed for it: a reason, the name, a rule. */
void prompt_typed(struct app *app, const char *text, struct effects *effects);
/* It was drawn: so many lines of the part that scrolls, of which room fit. */
void prompt_drawn(struct app *app, int total, int room);
/* When the guard ends, 0: it does not stand. */
int64_t prompt_due(const struct app *app);
/* "hutch allow 31 --for once". The caller's to free; NULL: it has none. */
char *prompt_twin(const struct app *app, enum action action);

/* ---- prompt_text.c ---- */
/* Makes the lines anew from what is known. */
void prompt_build(const struct app *app, struct prompt *prompt);
/* "shop   ROUTINE" for the top line, and "#33 of 2 waiting". The caller's to free. */
char *prompt_class(const struct prompt *prompt);
char *prompt_heading(const struct app *app);
/* Whether it is a push, which is read before it lands. */
bool prompt_is_push(const struct prompt *prompt);
/* Host names as A-labels: what is no ASCII in safe text becomes a visible code. The caller's to free. */
char *prompt_ascii(const char *safe);
/* Every field of an answer of hutchd, flat: for the detail. */
struct doc;
void prompt_fields(const json_t *json, struct doc *out);

#endif
