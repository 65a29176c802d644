/* session.h: one session: a process of its own (`hutch-guest session`) that holds the program's terminal or
 * pipes, keeps what it printed and outlives hutch-guest. hutch-guest reaches it by a SOCK_SEQPACKET socket,
 * sessions/ID.sock; sessions/ID.json has what is known when the process is gone.
 *
 * A message is one JSON object of at most SESSION_MESSAGE_MAX bytes. One request a connection, by "op":
 *   show                       -> {"session":{…}}
 *   wait                       -> {"session":{…}}, when it has ended and all output is in the ring
 *   resize {rows,columns}      -> {}
 *   signal {signal}            -> {}
 *   delete                     -> {} after all its processes are gone; the session process ends
 *   stdout|stderr {from} + fd  -> {"offset":N}, bytes into fd; at last {"done":true}, then fd is closed. The
 * connection's end without it: cut. {"error":…} in its place says why. stdin + fd                 -> {} at
 * once; the client says {"end":true} when the end of fd is an orderly one;
 *                                 {"done":true} when all is written, or the program takes no more
 * An error is {"error":{…}}. A client that goes away is detached; that never ends anything. */
#ifndef HUTCH_GUEST_SESSION_H
#define HUTCH_GUEST_SESSION_H

#include "guest/input.h"
#include "guest/output.h"
#include "guest/user.h"
#include "wire/json.h"

#define SESSION_MESSAGE_MAX 8192
#define SESSION_ARGV_MAX    4096
#define SESSION_ENV_MAX     1024
#define SESSION_STRING_MAX  (128 * 1024) /* one argument or one value */
#define SESSION_PATH_MAX    4095
#define SESSION_LABEL_MAX   63
#define SESSION_TERM_MAX    63
#define SESSION_SIDE_MAX    1000 /* rows, columns */
#define SESSION_KILL_MS     5000 /* from SIGTERM to SIGKILL after a timeout */
#define SESSION_KEEP_MS     (24ull * 3600 * 1000)
#define SESSION_TIMEOUT_MAX (366ll * 24 * 3600 * 1000)

/* What is to be started: the checked body of POST /v1/sessions. */
struct session_spec {
    char **argv; /* NULL-ended; NULL or empty: login shell */
    char **env;  /* NULL-ended K=V, besides the user's */
    char *cwd;   /* NULL: home */
    char *user;  /* NULL: default */
    char *term;
    char *label;
    bool pty;
    int64_t rows, columns, timeout_ms;
};
/* Reads and checks the JSON form. */
int session_spec_read(const json_t *body, struct session_spec *ret_spec, struct error **err);
void session_spec_finish(struct session_spec *spec);

struct session_peer;

/* The session process's whole state. */
struct session {
    uv_loop_t *loop;
    char *id, *folder, *bin;
    struct session_spec spec;
    struct user *user;
    char *cwd, *command; /* as shown */
    pid_t pid;           /* of the program: leader of its own session and process group; 0: reaped */
    pid_t shown_pid;
    int master;                               /* pty, or -1 */
    int program_in, program_out, program_err; /* our ends, before input and output take them over */
    bool has_cgroup, has_input;
    struct input input;
    struct output out, err;
    int open_streams; /* outputs that have not ended */
    bool exited, ended, timed_out, deleting;
    int exit_status, signal;
    int64_t started_ns, ended_ns;
    uint64_t user_us, system_us, max_rss;
    uv_signal_t child_signal;
    uv_timer_t timeout, keep;
    uv_poll_t listen;
    int listen_fd;
    struct session_peer *peers;
};

/* ---- session_child.c: the program ---- */
/* Starts it: forks, sets the child up, executes. On success pid and the program_… descriptors are set. A
 * program that cannot be executed is no error: it ends with 126 or 127 and the reason on its stderr. */
int session_child_start(struct session *session, struct error **err);
/* To the foreground process group of the terminal, else to the program's group. ERROR_STATE when it has
 * ended. */
int session_child_signal(struct session *session, int signal, struct error **err);
/* To every process of the session: its cgroup, else all with its session id. */
void session_child_signal_all(struct session *session, int signal);
int session_child_resize(struct session *session, int64_t rows, int64_t columns, struct error **err);
/* "INT", "SIGINT" or "2". */
int session_signal_number(const char *name, int *ret_signal, struct error **err);

/* ---- session_control.c: the socket ---- */
int session_control_init(struct session *session, struct error **err);
/* The session has ended: answers those who wait. */
void session_control_ended(struct session *session);
/* Answers the deleters; the process ends after it. */
void session_control_deleted(struct session *session);

/* ---- session_process.c ---- */
/* The session's object as the API shows it; caller json_decrefs. */
json_t *session_json(const struct session *session);
/* Writes sessions/ID.json. */
void session_save(const struct session *session);
/* Kills what runs and, when that is done, answers the deleters and ends the process. */
void session_delete(struct session *session);
/* hutch-guest session ID FOLDER BIN: descriptor 3 is the starter's socket (gets {"session":…} or
 * {"error":…}), 4 a file with the body of POST /v1/sessions. Returns the exit status. */
int session_main(int argc, char **argv);

#endif
