/* app_state.h: what struct app is made of, for ui/model and ui/view alone. */
#ifndef HUTCH_UI_APP_STATE_H
#define HUTCH_UI_APP_STATE_H

#include "ui/model/app.h"
#include "ui/model/demo.h"
#include "ui/model/doctor.h"
#include "ui/model/event.h"
#include "ui/model/form.h"
#include "ui/model/git.h"
#include "ui/model/inbox.h"
#include "ui/model/input.h"
#include "ui/model/layout.h"
#include "ui/model/list.h"
#include "ui/model/net.h"
#include "ui/model/project.h"
#include "ui/model/reader.h"
#include "ui/model/review.h"
#include "ui/model/rules.h"
#include "ui/model/session.h"
#include "ui/model/settings.h"
#include "ui/model/template.h"
#include "ui/model/terminal.h"
#include "ui/model/work.h"

#define OVERLAYS_MAX 8
#define ACTS_MAX     500 /* of the log of acts */
#define SECOND       INT64_C(1000000000)
#define LIST_GUTTER  2 /* columns before a row: the cursor, the mark */

/* A call to hutchd that is out. */
struct call {
    struct call *next;
    uint64_t id;
    /* Each message of it; the last one is MESSAGE_ANSWER (with an error if hutchd went away). */
    void (*take)(struct app *app, struct call *call, const struct message *message, struct effects *effects);
    uint64_t number; /* the caller's: a project, a row */
    enum action action;
    uint64_t entry; /* number of the entry in the log of acts that it ends; 0: none */
    bool local;     /* answered by the screen's loop: hutchd has no part in it */
    void *data;     /* the caller's; freed with the call, by drop if there is one */
    void (*drop)(void *data);
};

/* What was done or said: the log of acts. */
enum entry_state { ENTRY_RUNS, ENTRY_DONE, ENTRY_FAILED, ENTRY_SAID };
struct entry {
    uint64_t number;
    int64_t ts_ns, ended_ns;
    enum entry_state state;
    char *command; /* the command line that does the same; NULL: a message alone */
    char *words;   /* how it went */
};

enum input_use {
    INPUT_NONE,
    INPUT_FILTER,
    INPUT_SEARCH,
    INPUT_PALETTE,
    INPUT_NAME,
    INPUT_FILE,
    INPUT_RULE,   /* a rule of a project */
    INPUT_REASON, /* why a request is denied */
    INPUT_REJECT, /* why a push is rejected */
    INPUT_ALLOW,  /* the name of what a critical request opens */
    INPUT_VIEW
};

/* A question before an act. */
struct confirm {
    bool on;
    enum action action;
    enum weight weight;
    enum view_id view;
    uint64_t identity;
    char *name;     /* of the row when the key was pressed; of several: what is to be typed */
    uint64_t *rows; /* of several: those that were marked and can; count 0: identity alone */
    char **names;
    size_t count;
    struct act_words words;
};

/* What the mouse can press: cells of a row that stand for an act. */
#define HITS_MAX 48
struct hit {
    int row, column, columns;
    enum action action;
};

struct app {
    int rows, columns; /* of the screen without the box of `demo` */
    int screen_rows;
    struct hit hits[HITS_MAX]; /* as they were drawn last */
    size_t hit_count;
    bool changed, quit;
    int64_t now_ns;
    int64_t timer_ns; /* when the timer that is out rings, 0: none is */
    uint64_t last_id; /* of effects */

    bool up, was_up;
    char *down_why, *version;
    char *home, *folder, *folder_project, *repository;
    char *near_project; /* that has the repository, and another folder or none */
    struct settings settings;
    bool lines_probed, lines_work; /* line drawing: as the terminal shows it; as the settings want it then */
    char *title;                   /* of the window, as it was given last */
    int64_t waited;                /* requests that waited then */
    int theme;

    struct projects projects;
    struct events events;
    struct events older; /* a page of a project that is coming in */
    uint64_t older_call;
    int64_t older_before;
    size_t older_lines;
    struct sessions sessions;
    struct reader output, console;
    struct doc info;
    struct works works;
    struct form form;
    struct templates templates;
    struct doctor doctor;
    struct inbox inbox;
    struct net net;
    struct rules rules;
    struct git git;
    struct review review;
    uint32_t event_project; /* the selected one's number there */
    uint64_t events_call;
    int64_t up_ns, events_ns; /* events_ns: when to ask for events again, 0: not */
    bool host_known, host_kvm;
    int64_t host_disk_free;
    int64_t default_cpus, default_memory,
        default_disk; /* what hutchd chooses for a new machine; 0: not known */
    struct call *calls;
    uint64_t projects_call; /* the list that is out */
    bool projects_again;
    uint64_t status_call;
    int64_t status_asked_ns, status_ns; /* when the host was asked about last, and is next; 0: not at all */

    struct layout layout;
    struct list lists[VIEW_COUNT];
    enum view_id tab;
    enum pane focus;
    enum view_id overlays[OVERLAYS_MAX];
    int overlay_count;
    uint64_t selected; /* the project whose tabs are shown, 0: none */
    bool chosen;       /* the person has moved among the projects */

    /* What x, Enter and ? were pressed on. */
    enum view_id target_view;
    uint64_t target;
    enum view_id doc_view;
    uint64_t doc_identity;
    struct doc doc;

    struct input input;
    enum input_use input_use;
    char *input_error;
    struct confirm confirm;

    struct entry entries[ACTS_MAX];
    size_t entry_first, entry_end; /* positions; entries[position % ACTS_MAX] */
    uint64_t entry_last;
    size_t entry_seen; /* positions below it have had their time on the line above the keys */
    char *notice;      /* the line above the key bar says this; NULL: the newest entry */
    enum style notice_style;
    int64_t notice_ns;     /* when it was said: it goes after ENTRY_SHOWN_NS, unless it refuses or failed */
    uint64_t notice_about; /* the project that it is about: it goes with it; 0: none */
    uint64_t batch, batch_last,
        batch_said;    /* acts on several rows: that is begun; given last; of batch_words */
    char *batch_words; /* what failed of it */

    struct terminal *terminal; /* NULL: none is attached */
    bool terminal_full, terminal_only, terminal_begun;
    enum pane focus_before; /* had the keys before the terminal */
    int exit_status;
    struct demo demo;
};

/* ---- app.c ---- */
/* The list that the keys go to, its view, its id. */
enum view_id app_view(const struct app *app);
struct list *app_list(struct app *app, enum view_id view);
/* The identity under the cursor of a view's list. */
uint64_t app_cursor(const struct app *app, enum view_id view);
struct project *app_project(const struct app *app); /* the selected one, or NULL */
int64_t app_waiting(const struct app *app);         /* requests of all projects that wait for a person */
void app_touch(struct app *app);
/* The size of the whole screen: what `demo` takes of it is left out. */
void app_size(struct app *app, int rows, int columns);
/* Rows of a view are new. */
void app_news(struct app *app, enum view_id view);
/* Brings all lists up to date, before a key is understood and before a frame is drawn. */
void app_settle(struct app *app);
/* Says something on the line above the key bar, and keeps it in the log of acts if it is worth it (an error).
 */
void app_say(struct app *app, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void app_say_error(struct app *app, const struct error *error);
/* A project becomes the selected one. */
void app_choose_project(struct app *app, uint64_t number, struct effects *effects);
/* Opens the timeline of a project at the command of a session (safe text), the newest that began by ts_ns;
 * says so where it is not remembered, or not shown. */
void app_to_command(struct app *app, uint64_t project, const char *session, int64_t ts_ns,
                    struct effects *effects);
void app_open_tab(struct app *app, enum view_id view, struct effects *effects);
void app_push(struct app *app, enum view_id view, struct effects *effects);
void app_pop(struct app *app, struct effects *effects);
void app_focus(struct app *app, enum pane pane, struct effects *effects);

/* ---- feed.c ---- */
/* Calls hutchd; take gets all that comes back. body is taken over (may be NULL). The call is the app's. */
struct call *app_call(struct app *app, enum effect_type type, const char *method, const char *path,
                      json_t *body,
                      void (*take)(struct app *app, struct call *call, const struct message *message,
                                   struct effects *effects),
                      struct effects *effects);
/* The same for what the screen's own loop does with a text (copy, dump, edit): take gets the answer. */
struct call *app_local(struct app *app, enum effect_type type, const char *text,
                       void (*take)(struct app *app, struct call *call, const struct message *message,
                                    struct effects *effects),
                       struct effects *effects);
/* Ends a call that is out: no more of it comes. */
void app_cancel(struct app *app, uint64_t id, struct effects *effects);
struct call *app_find_call(const struct app *app, uint64_t id);
void feed_up(struct app *app, const struct message *message, struct effects *effects);
void feed_down(struct app *app, const struct message *message, struct effects *effects);
/* An answer of hutchd; false: not to a call of the app. */
bool feed_answer(struct app *app, const struct message *message, struct effects *effects);
/* What is due by the clock; ret: when to come again, 0: not at all. */
int64_t feed_tick(struct app *app, struct effects *effects);
/* A project is asked for anew (at most one call is out for it), now and while it changes. */
void feed_refresh(struct app *app, uint64_t number, struct effects *effects);
void feed_refresh_all(struct app *app, struct effects *effects);
/* Takes a project's answer: of a refresh, or of an act. */
void feed_take_project(struct app *app, const json_t *json);
void feed_finish(struct app *app);

/* ---- terminal_host.c ---- */
/* One session for the whole screen; leaving it leaves the program. */
void terminal_host_only(struct app *app, const char *project, const char *session);
/* Attaches to a session (names as the API takes them) in place of what was attached; label: safe text. */
void terminal_host_open(struct app *app, const char *project, const char *session, const char *label,
                        struct effects *effects);
void terminal_host_close(struct app *app, struct effects *effects);
/* Gives it a message; true: it was its own. */
bool terminal_host_message(struct app *app, const struct message *message, struct effects *effects);
void terminal_host_size(struct app *app, struct effects *effects);

/* ---- view_info.c ---- */
/* The selected project is another, or something of it. */
void info_update(struct app *app);

/* ---- act.c ---- */
/* Does an act on a row: checks that it is there and able, asks as its weight wants, and does it. ask: at
 * least y/n, for acts that were chosen with Enter. */
void act_begin(struct app *app, enum view_id view, uint64_t identity, enum action action, bool ask,
               struct effects *effects);
/* ---- act_many.c ---- */
/* Whether an act of a view goes to its marked rows; whether one of them can. */
bool many_wanted(const struct app *app, enum view_id view, enum action action);
bool many_able(const struct app *app, enum view_id view, enum action action);
/* The question for all of them (owned by the caller: act_cancel); false: none can, and that was said. */
bool many_begin(struct app *app, enum view_id view, enum action action, bool asked, struct confirm *ret);
/* Does it to each that still is what was meant, names the others, and takes the marks away. */
void many_go_on(struct app *app, const struct confirm *confirm, struct effects *effects);
/* One of a batch failed later: it is said with those that did before. */
void many_failed(struct app *app, uint64_t batch, const char *name, const struct error *error);
void many_free(struct confirm *confirm);

/* A key while a question is open. */
void act_answer(struct app *app, const struct key_event *key, struct effects *effects);
void act_cancel(struct app *app);
/* Whether an act is something that a row of the view can have done to it. */
bool act_of_row(const struct view *view, enum action action);
/* The view and the row that an act goes to: an act of projects on another view's row goes to its project. */
enum view_id act_row(const struct app *app, enum view_id view, uint64_t *identity, enum action action);
/* Whether an act can be done to the row under the cursor of a view just now; true for what is no act of rows.
 */
bool act_now(const struct app *app, enum view_id view, enum action action);
/* What an act on the row under the cursor is called. */
const char *act_label(const struct app *app, enum view_id view, enum action action);
/* The act's command line for a row; the caller's to free. NULL: it has none. */
char *act_twin(const struct app *app, enum view_id view, uint64_t identity, enum action action);
/* Asks for older events of the selected project, if there may be any and there is room. */
void feed_older(struct app *app, struct effects *effects);
/* The log of acts: an entry begins (command may be NULL) and ends. Returns its number. */
uint64_t act_log(struct app *app, enum entry_state state, const char *command, const char *words);
void act_log_end(struct app *app, uint64_t number, const struct error *error, const char *words);
/* How an act that runs goes on. */
void act_log_say(struct app *app, uint64_t number, const char *words);
#define ENTRY_SHOWN_NS (8 * SECOND)
/* Whether an act failed just now with these words, so that they are not said a second time. */
bool act_log_has_failed(const struct app *app, const char *words);
/* The newest act, while it runs and for ENTRY_SHOWN_NS after, if no key has come since its end; or NULL. */
const struct entry *act_newest(const struct app *app);
/* A key came: an act that is over has been seen. */
void act_seen(struct app *app);
const struct entry *act_entry(const struct app *app, size_t position);

/* ---- keys.c ---- */
void app_key(struct app *app, const struct key_event *key, struct effects *effects);

/* ---- does.c ---- */
/* A line begins to be typed. */
void app_type(struct app *app, enum input_use use, const char *text);
/* Does an act of the screen itself or of the view on top; what ui/view's bar may name. */
void app_do(struct app *app, enum action action, struct effects *effects);
/* Whether an act has something that does it in this view. */
bool app_does(const struct view *view, enum action action);

#endif
