/* screen_session.h: one session that fills the screen, with our own line below it. */
#ifndef HUTCH_CLI_SCREEN_SESSION_H
#define HUTCH_CLI_SCREEN_SESSION_H

#include "cli/session.h"

/* Rows at the bottom that are never the session's. */
#define SCREEN_SESSION_ROWS 1

/* Whether a session with a terminal is to be shown on the screen: at a terminal, unless raw is asked for. */
bool screen_session_wanted(bool raw);
/* Runs it as session_run does, which is what it falls back to on a terminal that cannot show the screen.
 * escape: the prefix key as it was given, or NULL for that of the settings. The client is connected anew. */
int screen_session(struct client *client, const struct session_spec *spec, const char *escape,
                   struct error **err);

#endif
