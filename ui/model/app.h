/* app.h: the whole screen's state. One reducer takes messages; ui/view draws it. No curses, no sockets, no
 * clock of its own. */
#ifndef HUTCH_UI_APP_H
#define HUTCH_UI_APP_H

#include "ui/model/demo.h"
#include "ui/model/effect.h"
#include "ui/model/message.h"

struct app;

struct app_options {
    int rows, columns;
    const char *home;       /* the user's own folder, for ~/; or NULL */
    const char *folder;     /* where hutch was started: its project is shown first */
    const char *repository; /* the top folder of the git repository around it, or NULL */
    const char *settings;   /* text of the user's configuration file, or NULL */
    /* One attached session fills the screen and leaving it leaves the program: `hutch shell` and `attach`. */
    const char *project, *session;
    const char *escape;              /* "^]", "none"; NULL: the configuration's */
    bool lines;                      /* line drawing was probed and works */
    const struct demo_options *demo; /* the scene of `hutch demo` plays, or NULL */
};
struct app *app_create(const struct app_options *options);
void app_free(struct app *app);
AUTO_DEFINE(app, struct app *, app_free);
/* Takes a message and appends what is to be done to *effects. */
void app_update(struct app *app, const struct message *message, struct effects *effects);
/* Whether what app_draw (ui/view/draw.h) gives is another than at its last call. */
bool app_changed(struct app *app);
/* Which colours, whether the mouse is taken: for the terminal at the start; later EFFECT_THEME and
 * EFFECT_MOUSE say so. `settings` of the options is the text of screen.ini in the configuration's folder. */
int app_theme(const struct app *app);
bool app_mouse(const struct app *app);
/* "auto", "yes" or "no": whether line drawing may be used (screen.ini, `lines`). */
const char *app_lines(const struct app *app);
/* What `hutch shell` returns: the session's exit status, or 0 when it was left; valid after EFFECT_QUIT. */
int app_exit_status(const struct app *app);

#endif
