/* The verbs of host ports: ls, add, rm. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"

#include <string.h>

static void note_problem(const json_t *answer)
{
    if (*out_string(answer, "problem"))
        out_note(_("the files of rules are not what counts now: %s"), out_string(answer, "problem"));
}

static void print_json(json_t *line, void *user)
{
    (void)user;
    out_json(line);
}

/* "pg.hutch.internal:5432" */
static char *address_of(const json_t *port)
{
    autofree char *host = out_member(port, "host");
    autofree char *number = out_member(port, "port");

    return xasprintf("%s:%s", host, number);
}

static void add_row(json_t *port, void *user)
{
    struct table *table = user;
    autofree char *address = address_of(port);

    table_add(table, out_string(port, "name"));
    table_add(table, address);
    table_add(table, out_string(port, "to"));
}

static int run_ls(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("NAME"), N_("IN THE MACHINE"), N_("HERE"), NULL};
    struct table table = {.titles = titles, .right = "lll"};
    bool json = args_has(args, "json");
    auto(client) struct client *client = NULL;
    auto(json) json_t *result = NULL;
    autofree char *path = NULL;
    int rc = project_begin(args, 0, "/host-ports", &client, &path, err);

    if (rc == 0)
        rc = client_lines(client, "GET", path, NULL, json ? print_json : add_row, &table, &result, err);
    if (rc == 0 && !json)
        table_print(&table);
    if (rc == 0)
        note_problem(result);
    table_finish(&table);
    return rc;
}

static const struct option_spec ls_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};
const struct verb verb_host_port_ls = {
    .name = "host-port ls",
    .synopsis = "[NAME] [--json]",
    .help = N_("list the ports of this host that a machine reaches"),
    .options = ls_options,
    .max_args = 1,
    .run = run_ls,
};

/* "pg=127.0.0.1:5432" and --port as the API's body. */
static int make_body(const struct args *args, json_t **ret_body, struct error **err)
{
    const char *word = args_word(args, args->word_count - 1), *port = args_value(args, "port");
    const char *equals = strchr(word, '=');
    autofree char *name = equals ? xstrndup(word, (size_t)(equals - word)) : NULL;
    uint64_t number = 0;

    if (!name) {
        autofree char *safe = text_safe(word);

        error_set(err, ERROR_USAGE, _("\"%s\" does not say where it leads"), safe);
        return error_hint(err, _("write a name and a port of this host: pg=127.0.0.1:5432"));
    }
    if (port && units_parse_number(port, 1, UINT16_MAX, &number, err) < 0)
        return error_prefix(err, "--port");
    *ret_body = json_pack("{s:s, s:s}", "name", name, "to", equals + 1);
    if (!*ret_body)
        return error_set(err, ERROR_INVALID, _("a host port is UTF-8 text"));
    if (number)
        json_object_set_new(*ret_body, "port", json_integer((json_int_t)number));
    return 0;
}

static int run_add(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *body = NULL, *answer = NULL;
    autofree char *path = NULL;
    int rc = make_body(args, &body, err);

    if (rc == 0)
        rc = project_begin(args, 1, "/host-ports", &client, &path, err);
    if (rc == 0)
        rc = client_call(client, "POST", path, body, &answer, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json")) {
        out_json(answer);
    } else {
        autofree char *address = address_of(answer);
        autofree char *to = out_member(answer, "to");

        out_text("%s -> %s\n", address, to);
    }
    note_problem(answer);
    return 0;
}

static const struct option_spec add_options[] = {
    {"port", 0, "N", N_("the port in the machine, if not the same; a socket needs it")},
    {"json", 0, NULL, N_("one JSON object a line")},
    {NULL},
};
const struct verb verb_host_port_add = {
    .name = "host-port add",
    .synopsis = "[NAME] PORT=ADDRESS [--port N] [--json]",
    .help = N_("let a machine reach a port of this host, such as pg=127.0.0.1:5432"),
    .options = add_options,
    .min_args = 1,
    .max_args = 2,
    .run = run_add,
};

static int run_rm(const struct args *args, struct error **err)
{
    return project_delete_part(args, "host-ports", "", err);
}

const struct verb verb_host_port_rm = {
    .name = "host-port rm",
    .synopsis = "[NAME] PORT",
    .help = N_("take a port of this host away from a machine"),
    .min_args = 1,
    .max_args = 2,
    .run = run_rm,
};
