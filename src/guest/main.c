/* main.c: hutch-guest, the one program of hutch in a machine; its subcommands, and the names it is called by.
 */
#include "config.h"

#include "base/alloc.h"
#include "base/log.h"
#include "guest/freeze.h"
#include "guest/checkpoint.h"
#include "guest/push_hook.h"
#include "guest/remote.h"
#include "guest/serve.h"
#include "guest/session.h"
#include "guest/supervise.h"
#include "guest/task.h"
#include "guest/wait.h"
#include "wire/hello.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int version_main(int argc, char **argv)
{
    printf("hutch-guest %s, protocol %d\n", PACKAGE_VERSION, HELLO_VERSION);
    return 0;
}

/* What each takes as its arguments begins with its own name. */
static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
    const char *about;
} subcommands[] = {
    {"serve", serve_main, "answer the host on the machine's ports; --ports FOLDER: on UNIX sockets there"},
    {"supervise", supervise_main, "keep `serve` alive"},
    {"session", session_main, "hold one session (started by `serve`)"},
    {"as", task_as_main, "do one job as a user (started by `serve`)"},
    {"freeze", freeze_main, "hold the file systems for a snapshot (started by `serve`)"},
    {"wait", wait_main, "N: wait for the answer to request N; 0 allowed, 4 denied, 5 gone"},
    {"checkpoint", checkpoint_main, "an agent's turn has ended: what it made and did not push comes out"},
    {"version", version_main, "say which version this is"},
};

static int usage(void)
{
    fprintf(stderr, "usage: hutch-guest COMMAND\n");
    for (size_t i = 0; i < countof(subcommands); i++)
        fprintf(stderr, "  %-10s %s\n", subcommands[i].name, subcommands[i].about);
    return 2;
}

/* A process of a machine is marked as one that goes last: systemd's final round of signals spares it. */
static void spare_from_farewells(char **argv)
{
    if (geteuid() == 0 && access("/run/hutch/bin/hutch-guest", F_OK) == 0)
        argv[0][0] = '@';
}

int main(int argc, char **argv)
{
    const char *base = argc > 0 ? strrchr(argv[0], '/') : NULL;
    base = base ? base + 1 : argc > 0 ? argv[0] : "";

    if (getpid() == 1)
        return supervise_begin(argc, argv);
    if (!strcmp(base, "git-remote-hutch"))
        return remote_main(argc, argv);
    if (!strcmp(base, "update"))
        return push_hook_update(argc, argv);
    if (!strcmp(base, "post-receive"))
        return push_hook_told(argc, argv);
    log_init("hutch-guest");
    for (size_t i = 0; argc > 1 && i < countof(subcommands); i++) {
        if (strcmp(subcommands[i].name, argv[1]) != 0)
            continue;
        if (subcommands[i].main == session_main)
            spare_from_farewells(argv);
        return subcommands[i].main(argc - 1, argv + 1);
    }
    return usage();
}
