/* One session on the screen: `hutch shell` and `hutch attach` at a terminal. */
#include "cli/screen_session.h"

#include "base/alloc.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/screen.h"

#include <string.h>
#include <unistd.h>

bool screen_session_wanted(bool raw)
{
    const char *term = getenv("TERM");
    bool able = term && *term && strcmp(term, "dumb") != 0;
    return !raw && able && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* After the screen: an ended session is forgotten, one that goes on is named. */
static void say_goodbye(struct client *client, const struct session_spec *spec)
{
    autofree char *encoded = json_url_encode(spec->id, strlen(spec->id));
    autofree char *path = project_path(spec->project, "/sessions/%s", encoded);
    auto(json) json_t *session = NULL;
    int rc = client_call(client, "GET", path, NULL, &session, NULL);
    const char *state = rc == 0 ? out_string(session, "state") : "";
    if (strcmp(state, "exited") == 0)
        client_call(client, "DELETE", path, NULL, NULL, NULL);
    else if (strcmp(state, "running") == 0 || strcmp(state, "starting") == 0)
        out_note(_("left session %s, it goes on; back with: hutch attach %s %s"), spec->id, spec->project,
                 spec->id);
}

int screen_session(struct client *client, const struct session_spec *spec, const char *escape,
                   struct error **err)
{
    const struct screen_options options = {.project = spec->project, .session = spec->id, .escape = escape};
    struct error *own = NULL;
    /* The screen has a connection of its own. */
    client_drop(client);
    int status = screen_run(&options, &own);
    if (status == -ERROR_INVALID) {
        error_free(own);
        int rc = client_reconnect(client, true, err);
        return rc < 0 ? rc : session_run(client, spec, err);
    }
    if (status < 0)
        return error_move(err, &own);
    if (status < 128 && client_reconnect(client, false, NULL) == 0)
        say_goodbye(client, spec);
    return status;
}
