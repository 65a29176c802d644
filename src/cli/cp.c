#include "cli/cp.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/args.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/snap.h"

#include <stdio.h>
#include <string.h>

char *place_base(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    return start == len ? xstrdup("/") : xstrndup(path + start, len - start);
}

char *place_parent(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    return len == 0 ? xstrdup(".") : xstrndup(path, len);
}

int place_parse(const char *word, const char *user, struct place *ret_place, struct error **err)
{
    size_t colon = strcspn(word, ":/");
    bool remote = word[colon] == ':';
    const char *path = remote ? word + colon + 1 : word;
    if (!*path && !remote)
        return error_set(err, ERROR_USAGE, _("an empty path"));
    size_t len = strlen(path);
    bool slash = len > 0 && path[len - 1] == '/';
    while (len > 1 && path[len - 1] == '/')
        len--;
    struct place place = {.remote = remote, .slash = slash};
    if (remote) {
        const char *owner = user ? user : CP_USER;
        autofree char *home = strcmp(owner, "root") == 0 ? xstrdup("/root") : xasprintf("/home/%s", owner);
        autofree char *project = xstrndup(word, colon);
        int rc = snap_split(project, &place.name, &place.snap, err);
        if (rc < 0)
            return rc;
        place.path = len == 0         ? xstrdup(home)
                     : path[0] == '/' ? xstrndup(path, len)
                                      : xasprintf("%s/%.*s", home, (int)len, path);
        autofree char *base = place_base(place.path);
        if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0) {
            place_finish(&place);
            return error_set(err, ERROR_USAGE,
                             _("a path in a machine cannot end in \"%s\": give the folder's own name"), base);
        }
    } else {
        place.path = xstrndup(path, len);
    }
    *ret_place = place;
    return 0;
}

void place_finish(struct place *place)
{
    free(steal(&place->name));
    free(steal(&place->snap));
    free(steal(&place->path));
}

int copy_stat(struct copy *copy, const char *path, char ret_type[16], json_t **ret_stat, struct error **err)
{
    autofree char *encoded = json_url_encode(path, strlen(path));
    autofree char *url = project_path(copy->project, "/files/stat?path=%s%s%s", encoded, copy->at ? "&at=" : "",
                                      copy->at ? copy->at : "");
    auto(json) json_t *stat = NULL;
    auto(error) struct error *own = NULL;
    int rc = client_call(copy->client, "GET", url, NULL, &stat, &own);
    /* A part of the way that is no folder is an I/O error: nothing is there either. */
    if (rc == -ERROR_NOT_FOUND || rc == -ERROR_IO) {
        ret_type[0] = '\0';
        return 0;
    }
    if (rc < 0)
        return error_move(err, &own);
    const char *type = NULL;
    rc = json_get_string(stat, "type", 15, &type, err);
    if (rc < 0)
        return rc;
    snprintf(ret_type, 16, "%s", type);
    if (ret_stat)
        *ret_stat = steal(&stat);
    return 0;
}

void copy_note(const char *text, void *user)
{
    struct copy *copy = user;
    copy->skipped++;
    progress_clear(&copy->progress);
    out_note("%s", text);
}

/* Both words; exactly one is in a machine. */
static int parse_places(const struct args *args, struct place *source, struct place *target,
                        struct error **err)
{
    const char *user = args_value(args, "user");
    int rc = place_parse(args_word(args, 0), user, source, err);
    if (rc == 0)
        rc = place_parse(args_word(args, 1), user, target, err);
    if (rc == 0 && target->snap)
        return error_set(err, ERROR_USAGE, _("a snapshot cannot be changed: copy out of it"));
    if (rc < 0 || source->remote != target->remote)
        return rc;
    error_set(err, ERROR_USAGE,
              source->remote ? _("both sides are in machines") : _("neither side is in a machine"));
    return error_hint(
        err, _("one side is [NAME][@SNAP]:PATH, the other a path of this host (./a:b for a name with a colon)"));
}

static int copy_places(const struct args *args, const struct place *source, const struct place *target,
                       struct error **err)
{
    auto(client) struct client *client = NULL;
    autofree char *name = NULL;
    auto(json) json_t *project = NULL;
    int rc = client_connect(true, &client, err);
    if (rc == 0)
        rc = project_name(client, source->remote ? source->name : target->name, &name, err);
    /* a project that is not there is not a file that is not there */
    if (rc == 0)
        rc = project_show(client, name, &project, err);
    if (rc == 0 && args_has(args, "thaw"))
        rc = project_thaw(client, name, err);
    if (rc < 0)
        return rc;
    struct copy copy = {.client = client, .project = name, .at = source->snap, .user = args_value(args, "user")};
    progress_init(&copy.progress);
    rc = source->remote ? copy_out(&copy, source, target->slash ? args_word(args, 1) : target->path, err)
                        : copy_in(&copy, source->path, target, err);
    progress_finish(&copy.progress);
    if (rc == 0 && copy.skipped > 0)
        rc = error_set(err, ERROR_FAILED, _("%zu entries were left out, the rest is copied"), copy.skipped);
    return rc;
}

static int run_cp(const struct args *args, struct error **err)
{
    struct place source = {0}, target = {0};
    int rc = parse_places(args, &source, &target, err);
    if (rc == 0)
        rc = copy_places(args, &source, &target, err);
    place_finish(&source);
    place_finish(&target);
    return rc;
}

static const struct option_spec cp_options[] = {
    {"user", 'u', "USER", N_("write as this user of the machine; a relative path begins at his home")},
    {"thaw", 0, NULL, N_("let a machine that is frozen for a request go on, without an answer")},
    {NULL},
};
const struct verb verb_cp = {
    .name = "cp",
    .synopsis = "SRC DST [-u USER] [--thaw]",
    .help = N_("copy a file or folder in or out; one side is [NAME]:PATH or [NAME]@SNAP:PATH"),
    .options = cp_options,
    .min_args = 2,
    .max_args = 2,
    .run = run_cp,
};
