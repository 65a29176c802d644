/* demo.h: the scene of `hutch demo`: the steps of ui/demo.def played on the screen as it is. The scene sees
 * each message after the model and each act before it is done; all it does itself is to ask hutchd for the
 * machine and the agent. Its captions stand in a box below the screen, which is that much lower: nothing is
 * hidden. */
#ifndef HUTCH_UI_DEMO_H
#define HUTCH_UI_DEMO_H

#include "ui/model/action.h"
#include "ui/model/effect.h"

#include <jansson.h>

#define DEMO_AGENT      "demo-agent" /* the agent's label among sessions, and its command */
#define DEMO_AGENT_PATH "/usr/local/bin/" DEMO_AGENT
#define DEMO_AGENT_MAX  65536 /* bytes of its program */

#define DEMO_READ_NS (4 * INT64_C(1000000000)) /* a caption stands at least so long */

struct app;

struct demo_options {
    const char *project;    /* its name */
    const char *repository; /* what is brought in: an absolute path */
    const char *agent;      /* the text of its program */
};
/* Zeroed there is none. */
struct demo {
    bool on;
    char *project, *repository, *agent;
    int at;                       /* the step */
    bool pressed;                 /* its key was; its condition is waited for */
    bool again;                   /* the scene went back to it */
    int64_t pressed_ns, shown_ns; /* shown_ns: since when its caption stands */
    char *session;                /* the agent's, NULL: it was not started */
    bool ended;
    bool busy, listed; /* the agent is being started; its forerunners are known */
    int killing;       /* forerunners whose end is waited for */
};

void demo_start(struct app *app, const struct demo_options *options);
void demo_finish(struct demo *demo);
/* After each message: whether the scene goes on. */
void demo_update(struct app *app, struct effects *effects);
/* Before an act: true: it was the scene's, and is not done. */
bool demo_takes(struct app *app, enum action action, struct effects *effects);
/* Before a key goes to a terminal; after a terminal was left or closed by a key. */
bool demo_types(struct app *app, const struct key_event *key, struct effects *effects);
void demo_left(struct app *app);
/* An event came in. */
void demo_event(struct app *app, const json_t *json);
/* Whether what it shows grows older by the second. */
bool demo_ticks(const struct app *app);

/* What stands in its box: the words, the key that goes on (the caller's to free; NULL: none does now), and
 * the key that leaves; the step and how many there are. */
char *demo_text(const struct app *app);
char *demo_key(const struct app *app);
/* What that key does (not the caller's). */
const char *demo_key_does(const struct app *app);
char *demo_key_leave(const struct app *app);
void demo_step(const struct app *app, int *ret_step, int *ret_count);
/* Rows that the box takes of a screen: as many in each step, so that what is above never moves. 0: there is
 * no scene.
 */
int demo_rows(const struct app *app, int rows, int columns);
#define DEMO_RULE_ROWS 16 /* a screen of fewer has no rule above the words */

#endif
