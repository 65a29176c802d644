/* session.h: a session of a project, attached to our standard input, output and error, until it ends or the
 * person leaves. It goes on over a lost connection: hutchd is started again and the output continues where it
 * was. */
#ifndef HUTCH_CLI_SESSION_H
#define HUTCH_CLI_SESSION_H

#include "cli/terminal.h"
#include "client/client.h"

#define SESSION_RETRY_MS      30000 /* how long hutchd, a worker or hutch-guest may be away */
#define SESSION_RETRY_STEP_MS 200
#define SESSION_INTERRUPTS    3    /* ^C so often … */
#define SESSION_INTERRUPT_MS  2000 /* … within this: detach */

struct session_spec {
    const char *project;
    const char *id;
    bool pty;
    bool fresh;    /* just started: from its first byte on; else all that is kept */
    bool ended;    /* it had ended before we came: it is not forgotten */
    bool raw;      /* nothing between its output and the terminal */
    bool no_input; /* our standard input is not for it */
    bool looks; /* attached to what another began: a closed stdout is no signal for it */
    struct prefix prefix;
};

/* Starts a session: body is the API's. *ret_id is the caller's to free. */
int session_start(struct client *client, const char *project, const json_t *body, char **ret_id,
                  struct error **err);
/* Runs it. Returns its exit status (0 after a detach; 128+n when signal n ended us), or negative: a failure
 * of hutch. An ended session is deleted. A terminal on 0 is raw meanwhile, if pty. */
int session_run(struct client *client, const struct session_spec *spec, struct error **err);

#endif
