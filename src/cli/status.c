/* The verb status: one line about everything. */
#include "cli/status.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/out.h"
#include "cli/project.h"

#include <string.h>

#define FORMAT_DEFAULT N_("%{projects} projects, %{running} running, %{waiting} waiting")

/* The value of "a.b" in an object, as safe text; NULL if there is no such member. Caller frees. */
static char *lookup(const json_t *object, const char *field, size_t len)
{
    while (object && len > 0) {
        const char *dot = memchr(field, '.', len);
        size_t part = dot ? (size_t)(dot - field) : len;
        autofree char *key = xstrndup(field, part);
        const json_t *member = json_object_get(object, key);
        if (!dot && json_is_object(member))
            return json_object_get(member, "name") ? out_member(member, "name") : NULL;
        if (!dot)
            return member ? out_member(object, key) : NULL;
        object = member;
        field += part + 1;
        len -= part + 1;
    }
    return NULL;
}

/* One "%{field}" or "%%" at *format, which moves behind it. */
static int take_field(const char **format, const json_t *object, struct buf *out, struct error **err)
{
    const char *at = *format + 1;
    if (*at == '%') {
        *format += 2;
        return buf_append(out, "%", 1, err);
    }
    size_t len = *at == '{' ? strcspn(at + 1, "}") : 0;
    if (*at != '{' || at[1 + len] != '}') {
        error_set(err, ERROR_USAGE, _("the format has a \"%%\" that begins no \"%%{field}\""));
        return err ? error_hint(err, _("\"%%%%\" is a percent sign")) : -ERROR_USAGE;
    }
    autofree char *value = lookup(object, at + 1, len);
    if (!value) {
        autofree char *field = xstrndup(at + 1, len);
        error_set(err, ERROR_USAGE, _("there is no field \"%s\""), field);
        return err ? error_hint(err, _("hutch status --json shows them")) : -ERROR_USAGE;
    }
    *format = at + len + 2;
    return buf_append(out, value, strlen(value), err);
}

int status_format(const char *format, const json_t *object, char **ret_text, struct error **err)
{
    struct buf out;
    buf_init(&out, 0);
    int rc = 0;
    while (*format && rc == 0) {
        size_t plain = strcspn(format, "%");
        require(buf_append(&out, format, plain, NULL) == 0);
        format += plain;
        if (*format)
            rc = take_field(&format, object, &out, err);
    }
    if (rc == 0)
        *ret_text = buf_take_string(&out);
    buf_finish(&out);
    return rc;
}

/* The project of this folder as "project"; without one its fields are empty. */
static int add_project(struct client *client, json_t *status, struct error **err)
{
    static const char *const fields[] = {"name",     "state", "agent", "waiting",
                                         "net_rate", "disk",  "step",  "failure"};
    auto(error) struct error *own = NULL;
    auto(json) json_t *project = NULL;
    autofree char *name = NULL;
    int rc = project_name(client, NULL, &name, &own);
    if (rc == 0)
        rc = project_show(client, name, &project, &own);
    if (rc < 0 && rc != -ERROR_NOT_FOUND)
        return error_move(err, &own);
    if (!project)
        project = json_object();
    for (size_t i = 0; i < countof(fields); i++)
        if (!json_object_get(project, fields[i]))
            json_object_set_new(project, fields[i], json_string(""));
    json_object_set(status, "project", project);
    return 0;
}

static int run_status(const struct args *args, struct error **err)
{
    const char *format = args_value(args, "format");
    auto(client) struct client *client = NULL;
    auto(json) json_t *status = NULL;
    autofree char *text = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = client_call(client, "GET", "/v1/status", NULL, &status, err);
    bool wanted = format && (strstr(format, "%{project}") || strstr(format, "%{project."));
    if (rc == 0 && wanted && !args_has(args, "json"))
        rc = add_project(client, status, err);
    if (rc == 0 && args_has(args, "json"))
        out_json(status);
    else if (rc == 0)
        rc = status_format(format ? format : out_word(FORMAT_DEFAULT), status, &text, err);
    if (rc == 0 && text)
        out_text("%s\n", text);
    return rc;
}

static const struct option_spec status_options[] = {
    {"format", 0, "F", N_("text with %{waiting}, %{running}, %{projects}, %{project} and others")},
    {"json", 0, NULL, N_("one JSON object")},
    {NULL},
};
const struct verb verb_status = {
    .name = "status",
    .synopsis = "[--format F] [--json]",
    .help = N_("one line about all projects, for a prompt or a status bar"),
    .options = status_options,
    .run = run_status,
};
