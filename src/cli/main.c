/* hutch: the command line. */
#include "base/log.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/help.h"
#include "cli/list.h"
#include "cli/out.h"
#include "cli/remote.h"
#include "cli/screen.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

/* Without a verb: the screen; without a terminal the projects, and where help is. */
static int run_alone(struct error **err)
{
    static const struct screen_options whole = {0};
    if (screen_possible())
        return screen_run(&whole, err);
    auto(client) struct client *client = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = list_projects(client, false, err);
    if (rc == 0 && isatty(STDOUT_FILENO))
        out_text(_("\nhutch help: what else it can do\n"));
    return rc;
}

/* Finds the verb, reads its arguments, runs it. *ret_verb: for the exit status of a failure. */
static int run(int argc, char **argv, const struct verb **ret_verb, struct error **err)
{
    if (argc < 2)
        return run_alone(err);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_all();
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = (char *)"version";
    int words;
    int rc = verb_find(argc - 1, argv + 1, ret_verb, &words, err);
    if (rc < 0)
        return rc;
    struct args args;
    rc = args_parse(*ret_verb, argc - 1 - words, argv + 1 + words, &args, err);
    if (rc < 0)
        return rc;
    if (args.help)
        help_verb(*ret_verb);
    else
        rc = (*ret_verb)->run(&args, err);
    args_finish(&args);
    return rc;
}

/* Descriptors 0 to 2 that were closed must not become some socket of ours: reading gives an end, writing an
 * error. */
static void fill_standard(void)
{
    int fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDONLY);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    fill_standard();
    auto(error) struct error *err = NULL;
    const struct verb *verb = NULL;
    words_begin();
    log_init("hutch");
    const char *base = argc > 0 && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc > 0 && !strcmp(base, REMOTE_PROGRAM))
        return remote_main(argc, argv);
    int rc = run(argc, argv, &verb, &err);
    if (rc >= 0) {
        int flushed = out_flush(&err);
        if (flushed < 0)
            rc = flushed;
    }
    if (rc >= 0)
        return rc;
    fflush(stdout);
    out_error(err);
    return verb_exit(verb, err);
}
