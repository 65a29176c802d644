/* screen.h: the loop of the screen: it feeds the model (ui/model/app.h) with keys, time and hutchd's answers,
 * carries out what the model asks for (ui/model/effect.h), and draws what changed. It never waits: hutchd is
 * started and connected in a thread, answers are taken in small pieces between keys. */
#ifndef HUTCH_CLI_SCREEN_H
#define HUTCH_CLI_SCREEN_H

#include "base/error.h"

#include <stdbool.h>

struct demo_options;

struct screen_options {
    /* One session that fills the screen; leaving it leaves the program. NULL: the whole screen. */
    const char *project, *session;
    const char *escape; /* as app_options.escape */
    const struct demo_options *demo; /* the scene that plays on it, or NULL */
};

/* Whether there is a person at a terminal (0 and 1), or HUTCH_UI_SCRIPT in place of one. */
bool screen_possible(void);
/* Opens the screen until the person leaves. Returns the exit status (app_exit_status; 128+n when signal n
 * ended it), or negative: no terminal that can show it (ERROR_INVALID), or a script that failed. */
int screen_run(const struct screen_options *options, struct error **err);

#endif
