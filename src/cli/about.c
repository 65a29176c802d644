/* The verbs about hutch itself: paths, version, help. */
#include "cli/args.h"
#include "cli/help.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/out.h"
#include "client/client.h"
#include "config.h"

#include <string.h>

static int run_paths(const struct args *args, struct error **err)
{
    auto(paths) struct paths *paths = NULL;
    int rc = paths_find(&paths, err);
    if (rc < 0)
        return rc;
    const struct {
        const char *name, *path;
    } list[] = {
        {"config", paths->config},     {"data", paths->data},
        {"state", paths->state},       {"cache", paths->cache},
        {"run", paths->run},           {"socket", paths->socket},
        {"programs", paths->programs}, {"templates", paths->templates},
    };
    auto(json) json_t *object = json_object();
    for (size_t i = 0; i < countof(list); i++) {
        json_object_set_new(object, list[i].name, json_string(list[i].path));
        autofree char *safe = text_safe(list[i].path);
        if (!args_has(args, "json"))
            out_text("%-10s %s\n", list[i].name, safe);
    }
    if (args_has(args, "json"))
        out_json(object);
    return 0;
}

static const struct option_spec json_options[] = {{"json", 0, NULL, N_("one JSON object")}, {NULL}};
const struct verb verb_paths = {
    .name = "paths",
    .synopsis = "[--json]",
    .help = N_("show where hutch keeps things"),
    .options = json_options,
    .run = run_paths,
};

static int run_version(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(error) struct error *own = NULL;
    /* It answers also when hutchd does not run, and starts none. */
    int rc = client_connect(false, &client, &own);
    auto(json) json_t *object =
        json_pack("{s:s, s:i, s:n}", "version", PACKAGE_VERSION, "protocol", CLIENT_PROTOCOL, "daemon");
    if (rc == 0) {
        json_object_set_new(object, "daemon",
                            json_pack("{s:s, s:i, s:I, s:s?}", "version", client->version, "protocol",
                                      CLIENT_PROTOCOL, "pid", (json_int_t)client->pid, "uri", client->uri));
    }
    if (args_has(args, "json")) {
        out_json(object);
        return 0;
    }
    out_text("hutch %s, protocol %d\n", PACKAGE_VERSION, CLIENT_PROTOCOL);
    if (rc == 0) {
        autofree char *version = text_safe(client->version);
        autofree char *uri = text_safe(client->uri ? client->uri : "");
        out_text("hutchd %s, process %lld%s%s\n", version, (long long)client->pid, *uri ? ", " : "", uri);
    } else if (own->code == ERROR_NO_DAEMON) {
        out_text(_("hutchd does not run\n"));
    } else {
        return error_move(err, &own);
    }
    return 0;
}

const struct verb verb_version = {
    .name = "version",
    .synopsis = "[--json]",
    .help = N_("show the versions of hutch and of the hutchd that runs"),
    .options = json_options,
    .run = run_version,
};

/* ---- help ---- */

void help_verb(const struct verb *verb)
{
    out_lines(13, _("usage: hutch %s%s%s\n\n%s.\n"), verb->name, *verb->synopsis ? " " : "", verb->synopsis,
              _(verb->help));
    for (const struct option_spec *spec = verb->options; spec && spec->name; spec++) {
        autofree char *form = xasprintf("%s%c%s --%s%s%s", spec->letter ? "-" : "",
                                        spec->letter ? spec->letter : ' ', spec->letter ? "," : "  ",
                                        spec->name, spec->value ? " " : "", spec->value ? spec->value : "");
        out_lines(33, "%s  %-30s %s\n", spec == verb->options ? "\n" : "", form, _(spec->help));
    }
}

void help_all(void)
{
    out_text(_("usage: hutch [VERB ...]\n\nPlain hutch opens the screen: projects, what they do, "
               "terminals.\nNAME may be left out: the project of this folder is meant.\n\n"));
    for (const struct verb *const *verb = verb_table; *verb; verb++)
        out_lines(19, "  %-16s %s\n", (*verb)->name, _((*verb)->help));
    out_lines(0, _("\nhutch help VERB, hutch VERB --help: its options. The manual: man hutch\n"));
}

static int run_help(const struct args *args, struct error **err)
{
    if (args_has(args, "verbs")) {
        for (const struct verb *const *verb = verb_table; *verb; verb++)
            out_text("%s\t%s\t%s\n", (*verb)->name, (*verb)->synopsis, (*verb)->help);
        return 0;
    }
    if (args->word_count == 0) {
        help_all();
        return 0;
    }
    const struct verb *verb;
    int words;
    int rc = verb_find((int)args->word_count, (char *const *)args->words, &verb, &words, err);
    if (rc < 0)
        return rc;
    help_verb(verb);
    return 0;
}

static const struct option_spec help_options[] = {
    {"verbs", 0, NULL, N_("name, arguments and purpose of every verb, with tabs between")}, {NULL}};
const struct verb verb_help = {
    .name = "help",
    .synopsis = "[VERB] [--verbs]",
    .help = N_("show the verbs, or the options of one"),
    .options = help_options,
    .max_args = 2,
    .run = run_help,
};
