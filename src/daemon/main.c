/* hutchd: owns the machines of one user and serves the API (doc/protocol.md). hutchd.8 is its reference. */
#include "config.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/clock.h"
#include "daemon/daemon.h"
#include "daemon/land.h"
#include "daemon/logfile.h"
#include "daemon/ops.h"
#include "daemon/quit.h"
#include "daemon/quit_client.h"
#include "daemon/server.h"
#include "image/image.h"
#include "repo/git.h"

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCEPT_MS 900 /* that clients wait for the first word of libvirt, at most */

struct options {
    bool foreground; /* messages stay on stderr */
    bool wait;       /* for another hutchd to end */
    bool quit, save;
};

static void usage(FILE *to)
{
    fprintf(to, "usage: hutchd [--foreground] [--wait]\n"
                "       hutchd --quit | --save-and-quit\n"
                "       hutchd --crash-steps | --version | --help\n"
                "\n"
                "  --foreground     write messages to stderr, not to hutchd.log\n"
                "  --wait           wait until another hutchd of this user has ended\n"
                "  --quit           end the hutchd that runs; machines go on\n"
                "  --save-and-quit  save the memory of all running machines, then end it\n"
                "  --crash-steps    list the steps that are recorded (for tests)\n");
}

static void list_steps(void)
{
    for (int step = 1; step < STEP_COUNT; step++)
        printf("%s\n", step_name((enum step)step));
}

/* Reads the command line; an exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct options *options)
{
    enum { OPT_FOREGROUND = 1, OPT_WAIT, OPT_QUIT, OPT_SAVE, OPT_STEPS, OPT_VERSION, OPT_HELP };
    static const struct option table[] = {
        {"foreground", no_argument, NULL, OPT_FOREGROUND},
        {"wait", no_argument, NULL, OPT_WAIT},
        {"quit", no_argument, NULL, OPT_QUIT},
        {"save-and-quit", no_argument, NULL, OPT_SAVE},
        {"crash-steps", no_argument, NULL, OPT_STEPS},
        {"version", no_argument, NULL, OPT_VERSION},
        {"help", no_argument, NULL, OPT_HELP},
        {0},
    };
    int opt;

    while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (opt) {
        case OPT_FOREGROUND:
            options->foreground = true;
            break;
        case OPT_WAIT:
            options->wait = true;
            break;
        case OPT_SAVE:
            options->save = true;
            options->quit = true;
            break;
        case OPT_QUIT:
            options->quit = true;
            break;
        case OPT_STEPS:
            list_steps();
            return 0;
        case OPT_VERSION:
            printf("hutchd %s\n", PACKAGE_VERSION);
            return 0;
        case OPT_HELP:
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return error_code_exit(ERROR_USAGE);
        }
    }
    if (optind == argc)
        return -1;
    usage(stderr);
    return error_code_exit(ERROR_USAGE);
}

/* Little memory, many descriptors, no core with other people's bytes in it. */
static void prepare_process(void)
{
    struct rlimit limit;

    mallopt(M_ARENA_MAX, 2);
    mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    umask(077);
    git_leave_repository();
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    if (chdir("/") < 0)
        log_warning("cannot leave the working folder");
}

/* ---- the loop's own handles ---- */

struct own {
    struct daemon *daemon;
    uv_signal_t term, interrupt;
    uv_timer_t accept;
    struct clock_watch *clock;
};

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    quit_begin(handle->data, false, NULL);
}

static void on_accept_timer(uv_timer_t *timer)
{
    struct own *own = timer->data;

    server_accept(own->daemon->server);
}

/* Every project has been looked at. */
static void on_settled(struct daemon *daemon)
{
    daemon->settled = true;
    land_resume(daemon);
    if (daemon->server)
        server_accept(daemon->server);
}

static int run_connect(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    struct vm_host *host;

    (void)params;
    (void)ret_result;
    return daemon_host(job_daemon(job), &host, err);
}

/* The connection to libvirt is made beside the rest: who asks for something at once does not wait for it
 * twice. */
static const struct job_kind connect_kind = {.name = "connect", .run = run_connect, .quiet = true};

static int run_sweep(struct job *job, void *params, json_t **ret_result, struct error **err)
{
    (void)params;
    (void)ret_result;
    return base_sweep(job_daemon(job)->paths, err);
}

/* What a template's build left that ended with the hutchd before this one. */
static const struct job_kind sweep_kind = {.name = "sweep", .run = run_sweep, .quiet = true};

static void start_handles(struct own *own)
{
    uv_loop_t *loop = &own->daemon->loop;

    uv_signal_init(loop, &own->term);
    uv_signal_init(loop, &own->interrupt);
    own->term.data = own->interrupt.data = own->daemon;
    uv_signal_start(&own->term, on_signal, SIGTERM);
    uv_signal_start(&own->interrupt, on_signal, SIGINT);
    uv_timer_init(loop, &own->accept);
    own->accept.data = own;
    uv_timer_start(&own->accept, on_accept_timer, ACCEPT_MS, 0);
    own->clock = clock_watch_create(own->daemon);
}

/* One hutchd from its lock to its end. */
static int serve(struct paths *paths, const struct options *options, struct error **err)
{
    autofree char *log_path = file_join(paths->state, "hutchd.log");
    autoclose int lock = -1;
    struct own own = {0};
    int rc = fd_lock_file(paths->lock, true, options->wait, &lock, err);

    if (rc < 0) {
        paths_free(paths);
        return error_prefix(err, "another hutchd runs");
    }
    rc = daemon_create(paths, &own.daemon, err);
    if (rc < 0)
        return rc;
    rc = server_create(own.daemon, &own.daemon->server, err);
    if (rc == 0 && !options->foreground)
        rc = logfile_open(log_path, err);
    if (rc < 0)
        return rc;
    log_info("hutchd %s starts", PACKAGE_VERSION);
    start_handles(&own);
    daemon_noted(own.daemon, NULL, "daemon.start", PACKAGE_VERSION);
    job_submit(own.daemon->jobs, "connect", &connect_kind, NULL);
    job_submit(own.daemon->jobs, "sweep", &sweep_kind, NULL);
    reconcile_start(own.daemon, on_settled);
    uv_run(&own.daemon->loop, UV_RUN_DEFAULT);
    unlink(own.daemon->paths->socket);
    /* What is still being done is on record, step by step: the next start finishes it. */
    if (!jobs_idle(own.daemon->jobs))
        _exit(0);
    uv_close((uv_handle_t *)&own.term, NULL);
    uv_close((uv_handle_t *)&own.interrupt, NULL);
    uv_close((uv_handle_t *)&own.accept, NULL);
    clock_watch_destroy(own.clock);
    daemon_destroy(own.daemon);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct paths *paths = NULL;
    auto(error) struct error *err = NULL;
    int status = read_options(argc, argv, &options), rc;

    if (status >= 0)
        return status;
    log_init("hutchd");
    prepare_process();
    rc = paths_find(&paths, &err);
    if (rc == 0 && options.quit) {
        rc = quit_client(paths, options.save, &err);
        paths_free(paths);
    } else if (rc == 0) {
        rc = paths_create(paths, &err);
        if (rc == 0)
            rc = serve(paths, &options, &err);
    }
    if (rc == 0)
        return 0;
    log_error("%s%s%s", err->message, err->hint ? "; " : "", err->hint ? err->hint : "");
    return error_code_exit(err->code);
}
