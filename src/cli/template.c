/* The verbs of templates: ls, show, build, rm. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/progress.h"

#include <string.h>

/* "/v1/templates/NAME" + suffix; caller frees. */
static char *template_path(const char *name, const char *suffix)
{
    autofree char *encoded = json_url_encode(name, strlen(name));
    return xasprintf("/v1/templates/%s%s", encoded, suffix);
}

static int check_name(const char *name, struct error **err)
{
    return *name ? 0 : error_set(err, ERROR_INVALID, _("a template's name cannot be empty"));
}

static void print_json(json_t *template, void *user)
{
    out_json(template);
}

static void add_template(json_t *template, void *user)
{
    struct table *table = user;
    char size[UNITS_SIZE_MAX] = "-";
    int64_t bytes = out_number(json_object_get(template, "base"), "size", -1);
    bool broken = *out_string(template, "failure") != '\0';
    if (bytes > 0)
        units_format_size((uint64_t)bytes, size);
    table_add(table, out_string(template, "name"));
    table_add(table, broken                                             ? out_word(N_("unusable"))
                     : json_is_true(json_object_get(template, "built")) ? out_word(N_("built"))
                                                                        : out_word(N_("not built")));
    table_add(table, size);
    table_add(table, out_string(template, broken ? "failure" : "about"));
}

static int run_ls(const struct args *args, struct error **err)
{
    static const char *const titles[] = {N_("TEMPLATE"), N_("BASE"), N_("SIZE"), N_("ABOUT"), NULL};
    struct table table = {.titles = titles, .right = "llrl"};
    bool json = args_has(args, "json");
    auto(client) struct client *client = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = client_lines(client, "GET", "/v1/templates", NULL, json ? print_json : add_template, &table,
                          NULL, err);
    if (rc == 0 && !json)
        table_print(&table);
    table_finish(&table);
    return rc;
}

static const struct option_spec json_options[] = {{"json", 0, NULL, N_("one JSON object a line")}, {NULL}};
const struct verb verb_template_ls = {
    .name = "template ls",
    .synopsis = "[--json]",
    .help = N_("list the templates"),
    .options = json_options,
    .run = run_ls,
};

/* A number as a person reads it: by its key a size or a time. Caller frees. */
static char *number_text(const char *key, int64_t value)
{
    static const char *const sizes[] = {"size", "virtual_size", "disk_min"};
    char size[UNITS_SIZE_MAX];
    size_t len = strlen(key);
    if (len > 3 && strcmp(key + len - 3, "_ns") == 0)
        return out_time(value);
    for (size_t i = 0; i < countof(sizes); i++) {
        if (strcmp(key, sizes[i]) == 0 && value >= 0)
            return xstrdup(units_format_size((uint64_t)value, size));
    }
    return xasprintf("%lld", (long long)value);
}

/* The name of a member as a template's file has it (hutch-template(5)), or a member of the base with the
 * same manners. Caller frees. */
static char *key_text(const char *key)
{
    static const struct {
        const char *member, *key;
    } table[] = {
        {"kernel_package", "kernel"},
        {"cpu_model", "cpu"},
        {"kernel", "kernel-version"}, /* of the base */
        {"built_ns", "built-at"},
    };
    for (size_t i = 0; i < countof(table); i++)
        if (!strcmp(table[i].member, key))
            return xstrdup(table[i].key);
    char *text = xstrdup(key);
    for (char *c = text; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return text;
}

static void print_pair(const char *key, const char *text)
{
    autofree char *safe_key = text_safe(key);
    out_text("%-20s %s\n", safe_key, text);
}

/* The members of an object, a line each; those of an object in it as "base.size". */
static void print_members(const char *prefix, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        autofree char *own = key_text(key);
        autofree char *name = xasprintf("%s%s", prefix, own);
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item)
        {
            autofree char *safe = text_safe(json_string_value(item));
            print_pair(i == 0 ? name : "", safe ? safe : "");
        }
        if (json_is_object(value)) {
            autofree char *inner = xasprintf("%s.", name);
            print_members(inner, value);
        } else if (!json_is_array(value) && !json_is_null(value)) {
            autofree char *text = json_is_integer(value) ? number_text(key, json_integer_value(value))
                                                         : out_member(object, key);
            print_pair(name, text);
        }
    }
}

static int run_show(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *template = NULL;
    autofree char *path = template_path(args_word(args, 0), "");
    int rc = check_name(args_word(args, 0), err);
    if (rc == 0)
        rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = client_call(client, "GET", path, NULL, &template, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json")) {
        out_json(template);
        return 0;
    }
    print_members("", template);
    return 0;
}

const struct verb verb_template_show = {
    .name = "template show",
    .synopsis = "TEMPLATE [--json]",
    .help = N_("show what a template says and whether its base is built"),
    .options = json_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_show,
};

static int run_build(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    auto(json) json_t *template = NULL;
    autofree char *path = template_path(args_word(args, 0), "/build");
    int rc = check_name(args_word(args, 0), err);
    if (rc == 0)
        rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = progress_call(client, "POST", path, NULL, &template, err);
    if (rc < 0)
        return rc;
    if (args_has(args, "json"))
        out_json(template);
    else
        out_text(_("%s: built\n"), args_word(args, 0));
    return 0;
}

const struct verb verb_template_build = {
    .name = "template build",
    .synopsis = "TEMPLATE [--json]",
    .help = N_("build a template's base; nothing to do if it is there"),
    .options = json_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_build,
};

static int run_rm(const struct args *args, struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *path = template_path(args_word(args, 0), "");
    autofree char *question = xasprintf(_("remove the base of template \"%s\"?"), args_word(args, 0));
    int rc = check_name(args_word(args, 0), err);
    if (rc == 0)
        rc = client_connect(true, &client, err);
    if (rc == 0 && !args_has(args, "yes"))
        rc = out_ask(question, err);
    return rc < 0 ? rc : client_call(client, "DELETE", path, NULL, NULL, err);
}

static const struct option_spec rm_options[] = {{"yes", 'y', NULL, N_("do not ask")}, {NULL}};
const struct verb verb_template_rm = {
    .name = "template rm",
    .synopsis = "TEMPLATE [--yes]",
    .help = N_("remove a template's base, if no project stands on it"),
    .options = rm_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_rm,
};
