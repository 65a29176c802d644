/* nc: a TCP connection to a port of the machine on stdin and stdout, as ssh's ProxyCommand wants it. */
#include "cli/verb.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/project.h"
#include "client/flow.h"

static int run_nc(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *name = NULL;
    const char *first = args_word(args, 0), *second = args_word(args, 1);
    uint64_t port = 0;

    int rc = units_parse_number(second ? second : first, 1, 65535, &port, err);
    if (rc < 0) {
        error_prefix(err, _("the port"));
        return rc;
    }
    rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, second ? first : NULL, &name, err);
    if (rc < 0)
        return rc;
    autofree char *path = project_path(name, "/tcp/%u", (unsigned)port);
    const struct flow_options options = {
        .method = "POST", .path = path, .body = true, .fd_in = 0, .fd_out = 1};
    return flow_run(client, &options, NULL, err);
}

const struct verb verb_nc = {
    .name = "nc",
    .synopsis = "[NAME] PORT",
    .help = N_("connect standard input and output to a TCP port of the machine's loopback"),
    .min_args = 1,
    .max_args = 2,
    .run = run_nc,
};
