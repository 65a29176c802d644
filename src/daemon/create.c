#include "daemon/create.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "conf/names.h"
#include "conf/template.h"
#include "daemon/host.h"
#include "daemon/way.h"
#include "wire/json.h"

#include <limits.h>
#include <string.h>
#include <sys/random.h>

#define TEMPLATE_DEFAULT "debian-13"
#define REPOS_MAX        32
#define REPO_SPEC_MAX    4096
#define NAME_LEN_MAX     1024 /* that is read; name_check says what is wrong with it */
#define CPUS_MAX         128
#define MEMORY_MIN       (128LL << 20)
#define MEMORY_MAX       (16LL << 40)
#define DISK_MIN         (1LL << 30)
#define DISK_MAX         (64LL << 40)

struct up_params *up_params_parse(const json_t *body, struct error **err)
{
    struct up_params *params = xnew(struct up_params);
    int64_t cpus = 0, memory = 0, disk = 0;
    int rc;

    if (!body)
        return params;
    rc = json_opt_number(body, "cpus", 1, CPUS_MAX, &cpus, err);
    if (rc == 0)
        rc = json_opt_number(body, "memory", MEMORY_MIN, MEMORY_MAX, &memory, err);
    if (rc == 0)
        rc = json_opt_number(body, "disk", DISK_MIN, DISK_MAX, &disk, err);
    if (rc == 0)
        rc = json_opt_bool(body, "cold", &params->cold, err);
    if (rc == 0)
        rc = json_opt_strings(body, "repos", REPOS_MAX, REPO_SPEC_MAX, &params->repos, err);
    if (rc < 0) {
        up_kind.free_params(params);
        return NULL;
    }
    params->cpus = (unsigned)cpus;
    params->memory = (uint64_t)memory / (1 << 20) * (1 << 20);
    params->disk = (uint64_t)disk;
    params->request = json_deep_copy(body);
    return params;
}

/* A random UUID (RFC 9562, version 4). */
static void make_uuid(char ret[37])
{
    unsigned char b[16];

    require(getrandom(b, sizeof(b), 0) == sizeof(b));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(ret, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* Records a new project: from here on it is listed. */
static int create(struct daemon *daemon, const char *name, const char *folder, const char *template_name,
                  const struct up_params *params, char ret_id[PROJECT_ID_MAX], struct error **err)
{
    auto(template) struct template *template = NULL;
    autofree char *id = units_random_hex(4);
    struct record r = {0};
    int rc = name_check("project", name, err);

    if (rc == 0)
        rc = template_load(daemon->paths, template_name, &template, err);
    if (rc < 0)
        return rc;
    snprintf(r.id, sizeof(r.id), "%s", id);
    snprintf(r.name, sizeof(r.name), "%s", name);
    make_uuid(r.uuid);
    r.folder = xstrdup(folder);
    r.template = xstrdup(template->name);
    r.user = xstrdup(template->user);
    r.cpus = params->cpus ? params->cpus : host_default_cpus();
    r.memory = params->memory ? params->memory : host_default_memory();
    r.disk = params->disk ? params->disk : HOST_DEFAULT_DISK;
    r.created_ns = units_now_ns();
    r.step = STEP_UP_CHECK;
    rc = daemon_note(daemon, r.name, "lifecycle.create", r.template, err);
    if (rc == 0)
        rc = state_save(daemon->state, &r, err);
    if (rc == 0)
        rc = projects_add(daemon->projects, &r, err);
    if (rc == 0) {
        struct project *project = projects_lock(daemon->projects, r.id);

        project->known = true; /* nothing of it can be anywhere yet */
        project->vm = VM_ABSENT;
        project->kvm = daemon->kvm;
        projects_unlock(daemon->projects);
        memcpy(ret_id, r.id, sizeof(r.id));
    }
    record_finish(&r);
    return rc;
}

/* An existing project stands on its own template. */
static int check_template(struct daemon *daemon, const char *id, const char *template_name,
                          struct error **err)
{
    struct project *project = template_name ? projects_lock(daemon->projects, id) : NULL;
    int rc = 0;

    if (!project)
        return 0;
    if (strcmp(project->r.template, template_name)) {
        autofree char *safe = text_safe(template_name);

        error_set(err, ERROR_EXISTS, "\"%s\" is there already and stands on template \"%s\", not \"%s\"",
                  project->r.name, project->r.template, safe);
        rc = error_hint(err, "take another name, or leave the template out");
    }
    projects_unlock(daemon->projects);
    return rc;
}

/* A folder's own project, or the name that a new one gets. */
static int name_for_folder(struct daemon *daemon, const char *folder, char ret_id[PROJECT_ID_MAX],
                           bool *ret_found, char **ret_name, struct error **err)
{
    *ret_found = projects_find_folder(daemon->projects, folder, false, ret_id);
    if (*ret_found)
        return 0;
    *ret_name = name_from(folder);
    if (!*ret_name) {
        autofree char *safe = text_safe(folder);

        error_set(err, ERROR_INVALID, "no name can be made of folder \"%s\"", safe);
        return error_hint(err, "give one: `hutch up NAME`");
    }
    if (projects_find(daemon->projects, *ret_name, ret_id, NULL) < 0)
        return 0;
    error_set(err, ERROR_EXISTS, "a project \"%s\" of another folder is there already", *ret_name);
    return error_hint(err,
                      "`hutch up %s` starts that one; `hutch up OTHER-NAME` makes a new one for this folder",
                      *ret_name);
}

int create_or_find(struct daemon *daemon, const json_t *body, const struct up_params *params,
                   char ret_id[PROJECT_ID_MAX], bool *ret_created, struct error **err)
{
    const char *name = NULL, *folder = NULL, *template_name = NULL, *mode = NULL;
    autofree char *made = NULL;
    bool found = false;
    int rc = json_opt_string(body, "name", NAME_LEN_MAX, &name, err);

    if (rc == 0)
        rc = json_opt_string(body, "folder", PATH_MAX, &folder, err);
    if (rc == 0)
        rc = json_opt_string(body, "template", NAME_LEN_MAX, &template_name, err);
    if (rc == 0)
        rc = json_opt_string(body, "egress", NAME_LEN_MAX, &mode, err);
    if (rc == 0 && !name && !folder)
        rc = error_set(err, ERROR_USAGE, "\"name\" or \"folder\" is needed");
    if (rc == 0 && folder && *folder != '/')
        rc = error_set(err, ERROR_INVALID, "the folder must be a full path");
    if (rc == 0 && name)
        found = projects_find(daemon->projects, name, ret_id, NULL) == 0;
    else if (rc == 0)
        rc = name_for_folder(daemon, folder, ret_id, &found, &made, err);
    if (rc < 0)
        return rc;
    if (found) {
        rc = check_template(daemon, ret_id, template_name, err);
        return rc == 0 && mode ? way_same(daemon, ret_id, mode, err) : rc;
    }
    if (mode)
        rc = name_check("project", name ? name : made, err);
    if (mode && rc == 0)
        rc = way_begin(daemon, name ? name : made, mode, err);
    if (rc < 0)
        return rc;
    *ret_created = true;
    return create(daemon, name ? name : made, folder, template_name ? template_name : TEMPLATE_DEFAULT,
                  params, ret_id, err);
}
