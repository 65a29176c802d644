#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "guest/cgroup.h"
#include "guest/session.h"
#include "guest/session_spare.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define STARTER_FD       3
#define COMMAND_MAX      500
#define STATUS_TIMED_OUT 124
#define STATUS_SIGNAL    128

static const char *state_name(const struct session *session)
{
    if (session->ended)
        return "exited";
    return session->shown_pid ? "running" : "starting";
}

static size_t attached(const struct session *session)
{
    return session->out.reader_count > session->err.reader_count ? session->out.reader_count
                                                                 : session->err.reader_count;
}

json_t *session_json(const struct session *session)
{
    json_t *o =
        json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I}", "id", session->id,
                  "state", state_name(session), "pty", session->spec.pty, "pid",
                  (json_int_t)session->shown_pid, "attached", (json_int_t)attached(session), "exit_status",
                  (json_int_t)session->exit_status, "signal", (json_int_t)session->signal, "timed_out",
                  session->timed_out, "started_ns", (json_int_t)session->started_ns, "ended_ns",
                  (json_int_t)session->ended_ns, "user_us", (json_int_t)session->user_us, "system_us",
                  (json_int_t)session->system_us, "max_rss", (json_int_t)session->max_rss);
    require(o != NULL);
    json_object_set_new(o, "out_total", json_integer((json_int_t)session->out.ring.total));
    json_object_set_new(o, "err_total", json_integer((json_int_t)session->err.ring.total));
    json_object_set_new(o, "out_start", json_integer((json_int_t)session->out.ring.start));
    json_object_set_new(o, "err_start", json_integer((json_int_t)session->err.ring.start));
    json_object_set_new(o, "command", json_bytes(session->command, strlen(session->command)));
    json_object_set_new(o, "cwd", json_bytes(session->cwd, strnlen(session->cwd, COMMAND_MAX)));
    json_object_set_new(o, "user", json_bytes(session->user->name, strlen(session->user->name)));
    if (session->spec.label)
        json_object_set_new(o, "label", json_bytes(session->spec.label, strlen(session->spec.label)));
    return o;
}

void session_save(const struct session *session)
{
    auto(json) json_t *o = session_json(session);
    auto(error) struct error *err = NULL;
    autofree char *path = xasprintf("%s/%s.json", session->folder, session->id);
    autofree char *text = json_text(o);

    if (file_replace(path, text, strlen(text), 0600, &err))
        log_warning("session %s: %s", session->id, err->message);
}

/* The command as a person would recognise it: a prefix of its arguments. */
static char *shown_command(const struct session *session)
{
    struct buf text;

    buf_init(&text, COMMAND_MAX);
    for (char **arg = session->spec.argv; arg && *arg; arg++) {
        size_t room = buf_room(&text), len = strlen(*arg);
        if (room > 0 && arg != session->spec.argv) {
            buf_append(&text, " ", 1, NULL);
            room--;
        }
        buf_append(&text, *arg, len < room ? len : room, NULL);
    }
    if (text.len == 0)
        buf_append(&text, session->user->shell, strnlen(session->user->shell, COMMAND_MAX), NULL);
    char *shown = buf_take_string(&text);
    buf_finish(&text);
    return shown;
}

/* The end of the process itself: nothing of the session stays. */
static void leave(struct session *session)
{
    autofree char *json = xasprintf("%s/%s.json", session->folder, session->id);
    autofree char *sock = xasprintf("%s/%s.sock", session->folder, session->id);
    autofree char *cgroup = xasprintf(CGROUP_SESSIONS "/%s", session->id);

    unlink(json);
    unlink(sock);
    if (session->has_cgroup)
        cgroup_remove(cgroup);
    session_control_deleted(session);
    _exit(0);
}

static void on_keep_over(uv_timer_t *timer)
{
    leave(timer->data);
}

/* The program is gone and its output is in the rings. */
static void maybe_ended(struct session *session)
{
    if (session->ended || !session->exited)
        return;
    if (session->deleting)
        leave(session); /* whatever background processes hold: they have been killed */
    if (session->open_streams > 0)
        return;
    session->ended = true;
    session->ended_ns = units_now_ns();
    uv_close((uv_handle_t *)&session->timeout, NULL);
    input_close(&session->input);
    session_save(session);
    session_control_ended(session);
    uv_timer_start(&session->keep, on_keep_over, SESSION_KEEP_MS, 0);
}

static void on_stream_ended(struct output *output, void *user)
{
    struct session *session = user;
    session->open_streams--;
    maybe_ended(session);
}

static uint64_t time_us(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

/* Reaps the program. Exit statuses are a shell's. */
static void on_child_signal(uv_signal_t *handle, int number)
{
    struct session *session = handle->data;
    struct rusage usage;
    int status;

    if (session->pid == 0 || wait4(session->pid, &status, WNOHANG, &usage) != session->pid)
        return;
    session->pid = 0;
    session->exited = true;
    if (WIFSIGNALED(status))
        session->signal = WTERMSIG(status);
    session->exit_status = session->signal ? STATUS_SIGNAL + session->signal : WEXITSTATUS(status);
    if (session->timed_out)
        session->exit_status = STATUS_TIMED_OUT;
    session->user_us = time_us(usage.ru_utime);
    session->system_us = time_us(usage.ru_stime);
    session->max_rss = (uint64_t)usage.ru_maxrss * 1024;
    output_program_ended(&session->out);
    output_program_ended(&session->err);
    maybe_ended(session);
}

static void on_kill_time(uv_timer_t *timer)
{
    session_child_signal_all(timer->data, SIGKILL);
}

static void on_timeout(uv_timer_t *timer)
{
    struct session *session = timer->data;

    if (session->exited)
        return;
    session->timed_out = true;
    session_child_signal_all(session, SIGTERM);
    /* a stopped program takes no SIGTERM */
    session_child_signal_all(session, SIGCONT);
    uv_timer_start(timer, on_kill_time, SESSION_KILL_MS, 0);
}

void session_delete(struct session *session)
{
    session->deleting = true;
    if (session->ended)
        leave(session);
    session_child_signal_all(session, SIGKILL);
    maybe_ended(session);
}

static int read_spec(struct session *session, struct error **err)
{
    auto(json) json_t *body = NULL;
    int rc = session_spare_wait(STARTER_FD, &body, err);

    if (rc == -ERROR_IO && err && *err && (*err)->sys == 0)
        _exit(0); /* hutch-guest has ended; nothing was asked of us */
    /* the loop has its time from when this process began to wait; a time limit counts from now */
    uv_update_time(session->loop);
    return rc ? rc : session_spec_read(body, &session->spec, err);
}

static int start(struct session *session, struct error **err)
{
    int rc = read_spec(session, err);
    if (!rc)
        rc = user_find(session->spec.user, &session->user, err);
    if (!rc && geteuid() != 0 && session->user->uid != geteuid())
        rc = error_set(err, ERROR_DENIED, "only root can start a session of '%s'", session->user->name);
    if (rc)
        return rc;
    session->command = shown_command(session);
    session->cwd = xstrdup(session->spec.cwd ? session->spec.cwd : session->user->home);
    session->started_ns = units_now_ns();
    rc = session_control_init(session, err);
    if (rc)
        return rc;
    /* before the program exists, so that no end of it is missed */
    uv_signal_init(session->loop, &session->child_signal);
    session->child_signal.data = session;
    uv_signal_start(&session->child_signal, on_child_signal, SIGCHLD);
    uv_timer_init(session->loop, &session->timeout);
    uv_timer_init(session->loop, &session->keep);
    session->timeout.data = session->keep.data = session;
    rc = session_child_start(session, err);
    if (rc)
        return rc;
    if (session->spec.timeout_ms)
        uv_timer_start(&session->timeout, on_timeout, (uint64_t)session->spec.timeout_ms, 0);
    session->open_streams = session->program_err >= 0 ? 2 : 1;
    input_init(&session->input, session->loop, session->program_in, session->spec.pty);
    output_init(&session->out, session->loop, session->program_out, on_stream_ended, session);
    output_init(&session->err, session->loop, session->program_err, on_stream_ended, session);
    session_save(session);
    return 0;
}

/* Leaves what hutch-guest has: its session and terminal, its signals; keeps its freedom from the OOM killer.
 */
static void stand_alone(void)
{
    setsid();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

int session_main(int argc, char **argv)
{
    struct session session = {.listen_fd = -1};
    auto(error) struct error *err = NULL;
    auto(json) json_t *answer = NULL;

    if (argc != 4)
        return 2;
    stand_alone();
    session.id = argv[1];
    session.folder = argv[2];
    session.bin = argv[3];
    session.loop = uv_default_loop();
    fd_set_cloexec(STARTER_FD, true, NULL);
    int rc = start(&session, &err);
    answer = rc ? json_from_error(err) : json_pack("{s:o}", "session", session_json(&session));
    autofree char *text = json_text(answer);
    fd_send(STARTER_FD, text, strlen(text), NULL, 0, NULL);
    close(STARTER_FD);
    if (rc)
        leave(&session);
    uv_run(session.loop, UV_RUN_DEFAULT);
    return 0;
}
