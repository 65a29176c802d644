#include "cli/project.h"

#include "base/alloc.h"
#include "base/words.h"
#include "cli/out.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

int project_name(struct client *client, const char *given, char **ret_name, struct error **err)
{
    if (given) {
        if (*given == '\0')
            return error_set(err, ERROR_INVALID, _("a project's name cannot be empty"));
        *ret_name = xstrdup(given);
        return 0;
    }
    autofree char *folder = realpath(".", NULL);
    if (!folder)
        return error_set_errno(err, errno, _("this folder cannot be found"));
    autofree char *encoded = json_url_encode(folder, strlen(folder));
    autofree char *path = xasprintf("/v1/find?folder=%s", encoded);
    auto(json) json_t *body = NULL;
    int rc = client_call(client, "GET", path, NULL, &body, err);
    if (rc == -ERROR_NOT_FOUND)
        return error_hint(
            err,
            _("give the project's name (\"hutch ls\" lists them), or make one of this folder: hutch up"));
    const char *name = NULL;
    if (rc == 0)
        rc = json_get_string(body, "name", 64, &name, err);
    if (rc == 0)
        *ret_name = xstrdup(name);
    return rc;
}

char *project_path(const char *name, const char *format, ...)
{
    autofree char *encoded = json_url_encode(name, strlen(name));
    va_list args;
    va_start(args, format);
    autofree char *suffix = xvasprintf(format, args);
    va_end(args);
    return xasprintf("/v1/projects/%s%s", encoded, suffix);
}

int project_begin(const struct args *args, size_t needs, const char *suffix, struct client **ret_client,
                  char **ret_path, struct error **err)
{
    const char *given = args->word_count > needs ? args_word(args, 0) : NULL;
    autofree char *name = NULL;
    int rc = client_connect(true, ret_client, err);

    if (rc == 0)
        rc = project_name(*ret_client, given, &name, err);
    if (rc == 0)
        *ret_path = project_path(name, "%s", suffix);
    return rc;
}

int project_delete_part(const struct args *args, const char *collection, const char *query,
                        struct error **err)
{
    const char *word = args_word(args, args->word_count - 1);
    autofree char *encoded = json_url_encode(word, strlen(word));
    autofree char *suffix = xasprintf("/%s/%s%s", collection, encoded, query);
    auto(client) struct client *client = NULL;
    autofree char *path = NULL;
    int rc = project_begin(args, 1, suffix, &client, &path, err);

    return rc < 0 ? rc : client_call(client, "DELETE", path, NULL, NULL, err);
}

int project_show(struct client *client, const char *name, json_t **ret_project, struct error **err)
{
    autofree char *path = project_path(name, "%s", "");
    return client_call(client, "GET", path, NULL, ret_project, err);
}

static void no_line(json_t *line, void *user)
{
}

int project_thaw(struct client *client, const char *name, struct error **err)
{
    autofree char *path = project_path(name, "/thaw");
    return client_lines(client, "POST", path, NULL, no_line, NULL, NULL, err);
}

const char *project_emulated(const json_t *project)
{
    return strcmp(out_string(project, "accel"), "emulated") == 0 ? PROJECT_EMULATED : NULL;
}
