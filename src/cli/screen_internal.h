/* screen_internal.h: what the files of the loop share. One turn of the loop: what came in goes to the model,
 * its effects are carried out, a frame is drawn if one is due; then it sleeps until something happens. */
#ifndef HUTCH_CLI_SCREEN_INTERNAL_H
#define HUTCH_CLI_SCREEN_INTERNAL_H

#include "cli/screen.h"
#include "client/async.h"
#include "client/watch.h"
#include "ui/grid/grid.h"
#include "ui/model/app.h"
#include "ui/term/term.h"

#define SCREEN_FRAME_MS   33 /* at most 30 frames a second … */
#define SCREEN_KEY_MS     8 /* … but what answers a key is drawn at once, and what comes soon after it … */
#define SCREEN_ANSWER_MS  100       /* … so long, as the echo of a session does, at this pace */
#define SCREEN_BUDGET_NS  2000000LL /* of answers a turn: a key never waits longer for its turn */
#define SCREEN_SLICE      16384     /* bytes that the model takes at once */
#define SCREEN_LINES      16        /* lines that the model takes at once */
#define SCREEN_FLUSH_MS   500       /* for what was typed before leaving */
#define SCREEN_RETRY_MS   100       /* hutchd away: the first wait, doubled up to … */
#define SCREEN_RETRY_MAX  2000
#define SCREEN_PATIENCE   20 /* tries until one every 10 s is enough */
#define SCREEN_RETRY_SLOW 10000
#define SETTINGS_MAX      (256 << 10)

enum screen_signal {
    SIGNAL_RESIZE,
    SIGNAL_STOP,
    SIGNAL_CONTINUE,
    SIGNAL_HANGUP,
    SIGNAL_TERM,
    SIGNAL_INT,
    SIGNAL_COUNT
};

struct script;
struct task;

struct screen {
    const struct screen_options *options;
    struct client *client;
    struct app *app;
    struct grid *grid;
    struct term *term; /* NULL: a script without a terminal */
    int rows, columns;
    struct effects effects;
    struct script *script;
    uv_prepare_t turn;
    uv_idle_t more; /* on while there is something to do at once */
    uv_timer_t frame, clock, escape;
    uv_signal_t signals[SIGNAL_COUNT];
    struct watch *in, *out;
    int64_t frame_ms;   /* when the last one was drawn */
    int64_t key_ms;     /* when the last key was taken */
    bool keyed;         /* it was after the last frame */
    bool frame_waiting; /* its timer runs */
    bool blocked;       /* the terminal takes no more */
    bool resized, full;
    bool quit;
    int signal; /* that ends us */
    struct error *failure;
    /* screen_link.c */
    uv_work_t work;
    uv_timer_t retry;
    bool working, up, lost;
    unsigned tries;
    int opened; /* the thread's: a connected socket, or -1 */
    struct error *open_error;
    struct async *greeting;
    char *down_said; /* why, as the model was told */
    /* screen_task.c */
    struct task *tasks;
    /* screen_settings.c */
    uv_fs_event_t settings_watch;
    uv_timer_t settings_timer;
    char *settings_path, *settings_text;
    bool settings_watched;
    /* screen_edit.c */
    uv_poll_t editor_poll;
    bool editing;
    int editor_fd;
    pid_t editor;
    pid_t writer; /* writes what the pager shows; 0: it is an editor */
    uint64_t editor_id;
};

/* ---- screen.c ---- */
/* Gives a message to the model, with the time, and carries out what it asks for. */
void screen_message(struct screen *screen, struct message *message);
/* The loop does not sleep before its next turn. */
void screen_again(struct screen *screen);
/* Ends the loop with a failure; takes over err. */
void screen_fail(struct screen *screen, struct error *err);
/* A key was taken: the frame that answers it waits for no other. */
void screen_keyed(struct screen *screen);
/* Draws now, whatever the time of the last frame. */
void screen_frame(struct screen *screen);

/* ---- screen_input.c: keys and signals ---- */
void screen_input_start(struct screen *screen);
void screen_input_stop(struct screen *screen);
/* Takes what was typed meanwhile. */
void screen_input_take(struct screen *screen);
/* ^Z: the terminal as it was, everything of our job stops, and goes on here after SIGCONT. */
void screen_suspend(struct screen *screen);
/* Keys are read and frames drawn, or (while an editor has the terminal) not. */
void screen_input_pause(struct screen *screen, bool pause);

/* ---- screen_effect.c ---- */
void screen_effect(struct screen *screen, struct effect *effect);

/* ---- screen_task.c: what is asked of hutchd ---- */
/* Starts a CALL, LINES, BYTES or the first WRITE; further bytes of a WRITE. */
void task_start(struct screen *screen, struct effect *effect);
void task_write(struct screen *screen, struct effect *effect);
void task_cancel(struct screen *screen, uint64_t id);
/* An answer that is no hutchd's: given to the model in the loop's next turn. Takes over err. */
void task_answer(struct screen *screen, uint64_t id, struct error *err);
/* Gives to the model what came, for SCREEN_BUDGET_NS at most. True: there is more. */
bool task_pump(struct screen *screen);
/* The connection is gone: all are over, without answers. */
void task_drop_all(struct screen *screen);
/* Whether a cancelled body has bytes that were not sent yet. */
bool task_sending(const struct screen *screen);

/* ---- screen_link.c: the connection ---- */
void screen_link_start(struct screen *screen);
/* In every turn: a loss becomes MESSAGE_DOWN, a greeting MESSAGE_UP. */
void screen_link_turn(struct screen *screen);
void screen_link_stop(struct screen *screen);

/* ---- screen_settings.c: screen.ini ---- */
/* Reads the file: its text (the caller's to free), "" if there is none; NULL and the error. */
char *screen_settings_read(struct screen *screen, struct error **err);
/* Watches it, if its folder is there; may be called again. */
void screen_settings_watch(struct screen *screen);
void screen_settings_stop(struct screen *screen);

/* ---- screen_edit.c ---- */
void screen_edit(struct screen *screen, const struct effect *effect);
void screen_page(struct screen *screen, const struct effect *effect);

/* ---- screen_script.c: HUTCH_UI_SCRIPT ---- */
/* Reads a script whole; ERROR_INVALID names the line. */
int script_load(const char *path, struct script **ret_script, struct error **err);
void script_free(struct script *script);
AUTO_DEFINE(script, struct script *, script_free);
void script_start(struct screen *screen);
/* Plays the next line, if it need not wait. True: the one behind it can be played at once. */
bool script_turn(struct screen *screen);
void script_stop(struct screen *screen);

#endif
