/* hutch-worker: the confined process that alone parses the bytes of one virtual machine. hutchd starts it
 * with one end of a SOCK_SEQPACKET pair as descriptor 3; it ends when hutchd's end closes. */
#include "base/log.h"
#include "worker/confine.h"
#include "worker/worker.h"

#include <malloc.h>
#include <signal.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define CHANNEL_FD 3

/* At once and without tidying up: whatever a guest sent is of no more interest. */
static void on_end(struct worker *worker, int code)
{
    _exit(code);
}

int main(int argc, char **argv)
{
    static struct worker worker;
    static uv_loop_t loop;
    auto(error) struct error *err = NULL;

    log_init("hutch-worker");
    signal(SIGPIPE, SIG_IGN);
    mallopt(M_ARENA_MAX, 1);
    tzset(); /* reads a file, which later it could not */
    if (confine_loop(&err) < 0 || uv_loop_init(&loop) < 0 ||
        worker_init(&worker, &loop, CHANNEL_FD, on_end, &err) < 0 || confine(&err) < 0) {
        log_error("%s", err ? err->message : "cannot begin");
        return err && err->code == ERROR_MISSING ? EX_UNAVAILABLE : EX_OSERR;
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    return EX_SOFTWARE;
}
