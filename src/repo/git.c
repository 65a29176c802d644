#include "repo/git.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define OWN_ARGS_MAX   24
#define OWN_LIMIT_S    120
#define OWN_OUT_MAX    (16 * 1024 * 1024)
#define ROOM_NS        500000000 /* between two looks at a disk */
#define LINE_MAX_BYTES 2048
#define TAIL_BYTES     4096

extern char **environ;

/* What one running command has said so far. */
struct output {
    char line[LINE_MAX_BYTES]; /* the stderr line that is growing */
    size_t line_len;
    char last[LINE_MAX_BYTES]; /* the line worth an error message */
    char tail[TAIL_BYTES];     /* all of stderr, for the kind of failure */
    size_t tail_len;
    struct buf out;
    bool cut; /* there was more than out may have */
    int64_t heard_ns, room_ns;
    uint64_t objects; /* of a pack that comes, as its head says */
};

bool git_parse_progress(const char *line, uint64_t *ret_done, uint64_t *ret_total, uint64_t *ret_bytes)
{
    const char *open = strstr(line, "% (");
    unsigned long long done, total;
    double amount = 0;
    char unit[8] = "";

    if (!open || sscanf(open, "%% (%llu/%llu)", &done, &total) != 2)
        return false;
    *ret_done = done;
    *ret_total = total;
    *ret_bytes = 0;
    const char *comma = strstr(open, "), ");
    if (comma && sscanf(comma, "), %lf %7s", &amount, unit) == 2 && amount >= 0) {
        double factor = !strncmp(unit, "KiB", 3)   ? 1024.0
                        : !strncmp(unit, "MiB", 3) ? 1024.0 * 1024
                        : !strncmp(unit, "GiB", 3) ? 1024.0 * 1024 * 1024
                                                   : 1.0;
        *ret_bytes = (uint64_t)(amount * factor);
    }
    return true;
}

bool git_ref_ok(const char *name)
{
    size_t len = strlen(name);
    if (len < 1 || len > 200 || name[0] == '-' || name[0] == '/' || strstr(name, ".."))
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (!(c < 0x80 && (isalnum(c) || strchr("._/-", c))))
            return false;
    }
    return true;
}

/* A finished stderr line: progress, or a candidate for the error message. */
static void line_done(struct output *output, const struct git_run *run)
{
    uint64_t done, total, bytes;

    output->line[output->line_len] = '\0';
    if (output->line_len == 0)
        return;
    if (git_parse_progress(output->line, &done, &total, &bytes)) {
        if (!strncmp(output->line, "Receiving", 9))
            output->objects = total;
        autofree char *safe = text_safe(output->line);
        char *colon = strchr(safe, ':');
        if (colon)
            *colon = '\0';
        if (run->progress)
            run->progress(safe, done, total, bytes, run->user);
    } else if (!strstr(output->line, "hint:") &&
               strncmp(output->line, "fatal: the remote end hung up", 29) != 0) {
        /* git's first "fatal:" or "error:" names the cause; what follows is its echo */
        bool serious = !strncmp(output->line, "fatal:", 6) || !strncmp(output->line, "error:", 6) ||
                       !strncmp(output->line, "ERROR:", 6) || strstr(output->line, "denied") ||
                       !strncmp(output->line, " ! [", 4); /* a ref that a push could not bring */
        bool have = !strncmp(output->last, "fatal:", 6) || !strncmp(output->last, "error:", 6) ||
                    strstr(output->last, "denied") || !strncmp(output->last, " ! [", 4);
        if (serious ? !have : !have)
            memcpy(output->last, output->line, output->line_len + 1);
    }
    output->line_len = 0;
}

/* Takes stderr bytes; lines end in \n or \r. */
static void take_stderr(struct output *output, const char *data, size_t len, const struct git_run *run)
{
    size_t keep = len < TAIL_BYTES - 1 ? len : TAIL_BYTES - 1;
    if (output->tail_len + keep > TAIL_BYTES - 1) {
        size_t drop = output->tail_len + keep - (TAIL_BYTES - 1);
        memmove(output->tail, output->tail + drop, output->tail_len - drop);
        output->tail_len -= drop;
    }
    memcpy(output->tail + output->tail_len, data + len - keep, keep);
    output->tail_len += keep;
    output->tail[output->tail_len] = '\0';
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n' || data[i] == '\r')
            line_done(output, run);
        else if (output->line_len < LINE_MAX_BYTES - 1)
            output->line[output->line_len++] = data[i] ? data[i] : '?';
    }
}

/* Reads what is there from one pipe; returns false at its end. */
static bool drain(int fd, struct output *output, bool is_err, const struct git_run *run)
{
    char chunk[16384];
    ssize_t n = read(fd, chunk, sizeof(chunk));

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    output->heard_ns = units_monotonic_ns();
    if (is_err)
        take_stderr(output, chunk, (size_t)n, run);
    else {
        size_t room = buf_room(&output->out);
        output->cut |= (size_t)n > room;
        buf_append(&output->out, chunk, (size_t)n < room ? (size_t)n : room, NULL);
    }
    return true;
}

/* Whether the disk that it writes to has enough left for everybody else. */
static int check_room(const struct git_run *run, struct output *output, int64_t now, struct error **err)
{
    char size[UNITS_SIZE_MAX];
    uint64_t left;

    if (!run->room_of || now - output->room_ns < ROOM_NS)
        return 0;
    output->room_ns = now;
    if (file_free_space(run->room_of, &left, NULL) < 0 || left >= run->room_min)
        return 0;
    int rc = error_set(err, ERROR_NO_SPACE, "%s was ended: only %s are free where '%s' lies", run->what,
                       units_format_size(left, size), run->room_of);
    error_hint(err, "make room on that disk, then try again");
    return rc;
}

/* Whether it must be ended now. */
static int check_limits(const struct git_run *run, struct output *output, int64_t started, struct error **err)
{
    int64_t now = units_monotonic_ns();

    if (run->cancel && atomic_load(run->cancel))
        return error_set(err, ERROR_CANCELLED, "%s was cancelled", run->what);
    if (run->objects_max && output->objects > run->objects_max)
        return error_set(err, ERROR_LIMIT, "%s brings %llu objects, more than %llu", run->what,
                         (unsigned long long)output->objects, (unsigned long long)run->objects_max);
    if (run->limit_s && now - started > (int64_t)run->limit_s * 1000000000)
        return error_set(err, ERROR_TIMED_OUT, "%s took longer than %u s", run->what, run->limit_s);
    if (run->quiet_limit_s && now - output->heard_ns > (int64_t)run->quiet_limit_s * 1000000000)
        return error_set(err, ERROR_TIMED_OUT, "%s said nothing for %u s", run->what, run->quiet_limit_s);
    return check_room(run, output, now, err);
}

/* Follows both pipes until the command has closed them, or until a limit. */
static int follow(const struct git_run *run, int out_fd, int err_fd, struct output *output,
                  struct error **err)
{
    struct pollfd polls[2] = {{.fd = out_fd, .events = POLLIN}, {.fd = err_fd, .events = POLLIN}};
    int64_t started = units_monotonic_ns();

    output->heard_ns = started;
    while ((polls[0].fd >= 0 || polls[1].fd >= 0) && !(run->whole && output->cut)) {
        int rc = check_limits(run, output, started, err);
        if (rc < 0)
            return rc;
        if (poll(polls, 2, 200) < 0 && errno != EINTR)
            return error_set_errno(err, errno, "cannot wait for %s", run->what);
        for (int i = 0; i < 2; i++)
            if (polls[i].fd >= 0 && polls[i].revents && !drain(polls[i].fd, output, i == 1, run))
                polls[i].fd = -1;
    }
    line_done(output, run);
    if (run->whole && output->cut)
        return error_set(err, ERROR_LIMIT, "%s says more than %zu bytes", run->what, run->out_limit);
    return 0;
}

/* What a status other than 0 means, in git's own words. */
static int failure(const struct git_run *run, const struct output *output, int status, struct error **err)
{
    static const char *const network[] = {"Could not resolve",
                                          "unable to access",
                                          "Connection refused",
                                          "timed out",
                                          "Network is unreachable",
                                          "Could not read from remote",
                                          NULL};
    autofree char *said = text_safe(output->last);
    enum error_code code = ERROR_FAILED;

    for (size_t i = 0; network[i]; i++)
        if (!run->only_env && strstr(output->tail, network[i])) /* a confined one has none */
            code = ERROR_NETWORK;
    int rc = error_set(err, code, "%s failed: %s", run->what, *said ? said : "git gave no reason");
    if (strstr(output->tail, "could not read Username") ||
        strstr(output->tail, "Permission denied (publickey"))
        error_hint(
            err,
            "hutch fetches with your own git: `git ls-remote` of the same URL must work without a question");
    else if (status > 128)
        error_hint(err, "git was ended by signal %d", status - 128);
    return rc;
}

/* Builds the child's environment. Caller frees the array only. */
static const char **make_env(const struct git_run *run)
{
    size_t mine = 0, theirs = 0, used = 0;

    while (run->env && run->env[mine])
        mine++;
    while (!run->only_env && environ[theirs])
        theirs++;
    const char **env = xnewn(const char *, mine + theirs + 1);
    for (size_t i = 0; i < theirs; i++) {
        bool replaced = false;
        for (size_t j = 0; j < mine && !replaced; j++) {
            size_t name = strcspn(run->env[j], "=");
            replaced = !strncmp(environ[i], run->env[j], name + 1);
        }
        if (!replaced)
            env[used++] = environ[i];
    }
    for (size_t j = 0; j < mine; j++)
        env[used++] = run->env[j];
    return env;
}

/* A file in memory with what the child reads as its stdin. */
static int make_input(const struct git_run *run, int *ret_fd, struct error **err)
{
    autoclose int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot start %s", run->what);
    int rc = fd_write_all(fd, run->input, strlen(run->input), err);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = error_set_errno(err, errno, "cannot start %s", run->what);
    if (rc == 0)
        *ret_fd = steal_fd(&fd);
    return rc;
}

int git_run(const struct git_run *run, char **ret_out, struct error **err)
{
    int out_pipe[2], err_pipe[2], status = 0;
    autoclose int input = -1;
    pid_t pid;

    if (run->input && make_input(run, &input, err) < 0)
        return -ERROR_FAILED;

    if (pipe2(out_pipe, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot start %s", run->what);
    autoclose int out_read = out_pipe[0];
    autoclose int out_write = out_pipe[1];
    if (pipe2(err_pipe, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot start %s", run->what);
    autoclose int err_read = err_pipe[0];
    autoclose int err_write = err_pipe[1];

    autofree const char **env = make_env(run);
    struct spawn spawn = {
        .argv = run->argv, .env = env, .in = input, .out = out_write, .err = err_write, .new_session = true};
    if (run->keep >= 0) {
        spawn.keep[0] = run->keep;
        spawn.keep_count = 1;
    }
    int rc = spawn_start(&spawn, &pid, err);
    if (rc < 0)
        return rc;
    close(steal_fd(&out_write));
    close(steal_fd(&err_write));

    struct output *output = xnew(struct output);
    buf_init(&output->out, run->out_limit ? run->out_limit : 1);
    rc = follow(run, out_read, err_read, output, err);
    if (rc < 0)
        kill(-pid, SIGKILL);
    int waited = spawn_wait(pid, &status, rc < 0 ? NULL : err);
    if (rc == 0 && waited < 0)
        rc = waited;
    else if (rc == 0 && status != 0)
        rc = failure(run, output, status, err);
    else if (rc == 0 && ret_out)
        *ret_out = buf_take_string(&output->out);
    buf_finish(&output->out);
    free(output);
    return rc;
}

int git_own(const char *folder, const char *const *args, const char *input, char **ret_out,
            struct error **err)
{
    static const char *const env[] = {"GIT_CONFIG_NOSYSTEM=1",
                                      "GIT_CONFIG_GLOBAL=/dev/null",
                                      "GIT_ATTR_NOSYSTEM=1",
                                      "GIT_TERMINAL_PROMPT=0",
                                      "GIT_ALLOW_PROTOCOL=none",
                                      "GIT_NO_LAZY_FETCH=1",
                                      "LC_ALL=C",
                                      NULL};
    static const char *const fixed[] = {
        "git",       "-c",       "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c",
        "gc.auto=0", "--git-dir"};
    const char *argv[countof(fixed) + 1 + OWN_ARGS_MAX + 1] = {0};
    size_t n = countof(fixed);

    memcpy(argv, fixed, sizeof(fixed));
    argv[n++] = folder;
    for (size_t i = 0; args[i]; i++) {
        require(i < OWN_ARGS_MAX);
        argv[n++] = args[i];
    }
    struct git_run run = {.argv = argv,
                          .env = env,
                          .keep = -1,
                          .input = input,
                          .what = "git on what came out of the machine",
                          .limit_s = OWN_LIMIT_S,
                          .out_limit = OWN_OUT_MAX,
                          .whole = ret_out != NULL};
    return git_run(&run, ret_out, err);
}

/* The user's ssh command, or plain ssh, with questions turned off. */
static char *ssh_command(void)
{
    const char *own = getenv("GIT_SSH_COMMAND");
    autofree char *configured = NULL;

    if (!own || !*own) {
        const char *argv[] = {"git", "config", "--global", "--get", "core.sshCommand", NULL};
        struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
        if (spawn_run(&spawn, 5000, 4096, &configured, NULL) == 0 && configured) {
            configured[strcspn(configured, "\r\n")] = '\0';
            own = configured;
        }
    }
    return xasprintf("GIT_SSH_COMMAND=%s -o BatchMode=yes", own && *own ? own : "ssh");
}

char **git_user_env(void)
{
    char **env = xnewn(char *, 8);
    size_t n = 0;

    env[n++] = xstrdup("GIT_TERMINAL_PROMPT=0");
    env[n++] = xstrdup("LC_ALL=C");
    env[n++] = xstrdup("SSH_ASKPASS_REQUIRE=never");
    env[n++] = xstrdup("GIT_ASKPASS=/bin/false");
    env[n++] = xstrdup("GIT_ALLOW_PROTOCOL=file:git:http:https:ssh");
    env[n++] = ssh_command();
    return env;
}

void git_free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

void git_leave_repository(void)
{
    static const char *const names[] = {"GIT_DIR",
                                        "GIT_WORK_TREE",
                                        "GIT_IMPLICIT_WORK_TREE",
                                        "GIT_INDEX_FILE",
                                        "GIT_OBJECT_DIRECTORY",
                                        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                        "GIT_COMMON_DIR",
                                        "GIT_NAMESPACE",
                                        "GIT_PREFIX",
                                        "GIT_QUARANTINE_PATH",
                                        "GIT_GRAFT_FILE",
                                        "GIT_SHALLOW_FILE",
                                        "GIT_REPLACE_REF_BASE",
                                        "GIT_NO_REPLACE_OBJECTS",
                                        "GIT_CONFIG",
                                        "GIT_CONFIG_PARAMETERS",
                                        "GIT_CONFIG_COUNT",
                                        "GIT_REFLOG_ACTION",
                                        "GIT_PROTOCOL"};
    for (size_t i = 0; i < countof(names); i++)
        unsetenv(names[i]);
}
