#include "daemon/project.h"

#include "base/alloc.h"
#include "base/text.h"

#include <pthread.h>
#include <string.h>

struct projects {
    pthread_mutex_t lock;
    struct project **list; /* in order of creation */
    size_t count;
    int64_t clock; /* for `accessed` */
};

struct projects *projects_create(void)
{
    struct projects *projects = xnew(struct projects);

    pthread_mutex_init(&projects->lock, NULL);
    return projects;
}

static void free_project(struct project *project)
{
    record_finish(&project->r);
    free(project);
}

void projects_destroy(struct projects *projects)
{
    if (!projects)
        return;
    for (size_t i = 0; i < projects->count; i++)
        free_project(projects->list[i]);
    free(projects->list);
    pthread_mutex_destroy(&projects->lock);
    free(projects);
}

/* The project with this id; the table is locked. */
static struct project *find(struct projects *projects, const char *id)
{
    for (size_t i = 0; i < projects->count; i++) {
        if (!strcmp(projects->list[i]->r.id, id))
            return projects->list[i];
    }
    return NULL;
}

int projects_add(struct projects *projects, const struct record *record, struct error **err)
{
    struct project *project;
    int rc = 0;

    pthread_mutex_lock(&projects->lock);
    for (size_t i = 0; i < projects->count && rc == 0; i++) {
        if (!strcmp(projects->list[i]->r.name, record->name))
            rc = error_set(err, ERROR_EXISTS, "a project \"%s\" is there already", record->name);
    }
    if (rc == 0) {
        project = xnew(struct project);
        record_copy(&project->r, record);
        project->accessed = ++projects->clock;
        projects->list = xrealloc(projects->list, projects->count + 1, sizeof(*projects->list));
        projects->list[projects->count++] = project;
    }
    pthread_mutex_unlock(&projects->lock);
    return rc;
}

void projects_remove(struct projects *projects, const char *id)
{
    pthread_mutex_lock(&projects->lock);
    for (size_t i = 0; i < projects->count; i++) {
        if (!strcmp(projects->list[i]->r.id, id)) {
            free_project(projects->list[i]);
            memmove(&projects->list[i], &projects->list[i + 1],
                    (projects->count - i - 1) * sizeof(*projects->list));
            projects->count--;
            break;
        }
    }
    pthread_mutex_unlock(&projects->lock);
}

struct project *projects_lock(struct projects *projects, const char *id)
{
    struct project *project;

    pthread_mutex_lock(&projects->lock);
    project = find(projects, id);
    if (!project)
        pthread_mutex_unlock(&projects->lock);
    return project;
}

void projects_unlock(struct projects *projects)
{
    pthread_mutex_unlock(&projects->lock);
}

/* Offers the nearest of the names; the table is locked. */
static int not_found(struct projects *projects, const char *name, struct error **err)
{
    autofree const char **names = xnewn(const char *, projects->count + 1);
    autofree char *safe = text_safe(name);
    const char *nearest;

    for (size_t i = 0; i < projects->count; i++)
        names[i] = projects->list[i]->r.name;
    nearest = text_nearest(name, names);
    error_set(err, ERROR_NOT_FOUND, "there is no project \"%s\"", safe);
    if (nearest)
        return error_hint(err, "did you mean \"%s\"?", nearest);
    return error_hint(err, projects->count ? "`hutch ls` lists the projects" : "`hutch up` makes one");
}

int projects_find(struct projects *projects, const char *name, char ret_id[PROJECT_ID_MAX],
                  struct error **err)
{
    struct project *found = NULL;
    int rc = 0;

    pthread_mutex_lock(&projects->lock);
    for (size_t i = 0; i < projects->count && !found; i++) {
        if (!strcmp(projects->list[i]->r.name, name))
            found = projects->list[i];
    }
    if (!found)
        found = find(projects, name);
    if (found) {
        memcpy(ret_id, found->r.id, PROJECT_ID_MAX);
        found->accessed = ++projects->clock;
    } else {
        rc = not_found(projects, name, err);
    }
    pthread_mutex_unlock(&projects->lock);
    return rc;
}

bool projects_find_uuid(struct projects *projects, const char *uuid, char ret_id[PROJECT_ID_MAX])
{
    bool found = false;

    pthread_mutex_lock(&projects->lock);
    for (size_t i = 0; i < projects->count && !found; i++) {
        found = !strcmp(projects->list[i]->r.uuid, uuid);
        if (found)
            memcpy(ret_id, projects->list[i]->r.id, PROJECT_ID_MAX);
    }
    pthread_mutex_unlock(&projects->lock);
    return found;
}

/* Whether folder is parent itself or lies below it. */
static bool is_below(const char *folder, const char *parent)
{
    size_t len = strlen(parent);

    while (len > 1 && parent[len - 1] == '/')
        len--;
    if (strncmp(folder, parent, len))
        return false;
    return !folder[len] || folder[len] == '/' || len == 1;
}

bool projects_find_folder(struct projects *projects, const char *folder, bool nearest,
                          char ret_id[PROJECT_ID_MAX])
{
    const struct project *best = NULL;
    size_t best_len = 0;

    pthread_mutex_lock(&projects->lock);
    for (size_t i = 0; i < projects->count; i++) {
        const struct project *project = projects->list[i];
        const char *own = project->r.folder;
        size_t len = own ? strlen(own) : 0;

        if (!own || !(nearest ? is_below(folder, own) : !strcmp(folder, own)))
            continue;
        if (!best || len > best_len || (len == best_len && project->accessed > best->accessed)) {
            best = project;
            best_len = len;
        }
    }
    if (best)
        memcpy(ret_id, best->r.id, PROJECT_ID_MAX);
    pthread_mutex_unlock(&projects->lock);
    return best != NULL;
}

bool projects_find_repository(struct projects *projects, const char *folder, char ret_id[PROJECT_ID_MAX])
{
    const struct project *best = NULL;

    pthread_mutex_lock(&projects->lock);
    for (size_t i = 0; i < projects->count; i++) {
        const struct project *project = projects->list[i];

        for (size_t k = 0; k < project->r.repo_count; k++)
            if (!strcmp(project->r.repos[k].spec, folder) &&
                (!best || project->r.created_ns > best->r.created_ns))
                best = project;
    }
    if (best)
        memcpy(ret_id, best->r.id, PROJECT_ID_MAX);
    pthread_mutex_unlock(&projects->lock);
    return best != NULL;
}

char (*projects_ids(struct projects *projects, size_t *ret_count))[PROJECT_ID_MAX]
{
    char(*ids)[PROJECT_ID_MAX];

    pthread_mutex_lock(&projects->lock);
    ids = xcalloc(projects->count + 1, PROJECT_ID_MAX);
    for (size_t i = 0; i < projects->count; i++)
        memcpy(ids[i], projects->list[i]->r.id, PROJECT_ID_MAX);
    *ret_count = projects->count;
    pthread_mutex_unlock(&projects->lock);
    return ids;
}

bool projects_record(struct projects *projects, const char *id, struct record *ret_record)
{
    struct project *project = projects_lock(projects, id);

    if (!project)
        return false;
    record_copy(ret_record, &project->r);
    projects_unlock(projects);
    return true;
}

void projects_put(struct projects *projects, const struct record *record)
{
    struct project *project = projects_lock(projects, record->id);

    if (!project)
        return;
    record_finish(&project->r);
    record_copy(&project->r, record);
    projects_unlock(projects);
}

bool project_alive(const struct project *project)
{
    return project->vm == VM_RUNNING || project->vm == VM_PAUSED || project->vm == VM_STOPPING;
}

/* What an operation that is being done makes of the state; NULL: nothing of note. */
static const char *busy_state(const struct project *project)
{
    if (!project->busy)
        return NULL;
    switch (step_operation(project->r.step)) {
    case OPERATION_UP:
        if (project->guest_up && project->vm == VM_RUNNING && project->r.made)
            return NULL;
        return project->r.made ? "starting" : "new";
    case OPERATION_WAKE:
        return "starting";
    case OPERATION_SUSPEND:
        return "saving";
    case OPERATION_STOP:
    case OPERATION_REMOVE:
        return "stopping";
    case OPERATION_RESTORE:
        return "starting";
    case OPERATION_SNAP:
    case OPERATION_SNAPRM:
    case OPERATION_FORK:
    case OPERATION_NONE:
        break;
    }
    return NULL;
}

/* What the record alone says, while libvirt has not answered (it may be at a long job that it was asked for
 * earlier). */
static const char *recorded_state(const struct record *r)
{
    switch (step_operation(r->step)) {
    case OPERATION_UP:
    case OPERATION_WAKE:
        return r->made ? "starting" : "new";
    case OPERATION_SUSPEND:
        return "saving";
    case OPERATION_STOP:
    case OPERATION_REMOVE:
        return "stopping";
    case OPERATION_RESTORE:
        return "starting";
    case OPERATION_SNAP:
    case OPERATION_SNAPRM:
    case OPERATION_FORK:
    case OPERATION_NONE:
        break;
    }
    return r->saved ? "saved" : "failed";
}

const char *project_state(const struct project *project)
{
    const char *busy = busy_state(project);

    if (busy)
        return busy;
    if (!project->known)
        return recorded_state(&project->r);
    switch (project->vm) {
    case VM_RUNNING:
        return "run";
    case VM_PAUSED:
        return record_is_frozen(&project->r) ? "frozen" : "paused";
    case VM_STOPPING:
        return "stopping";
    case VM_CRASHED:
        return "failed";
    case VM_ABSENT:
    case VM_OFF:
        break;
    }
    if (project->r.failure)
        return "failed";
    if (project->r.saved)
        return "saved";
    if (project->r.made && (project->vm == VM_ABSENT || project->disk_missing))
        return "gone";
    return project->r.made ? "off" : "new";
}

int project_require_running(const struct project *project, struct error **err)
{
    const char *name = project->r.name;

    if (project->vm == VM_RUNNING)
        return 0;
    if (project->vm == VM_PAUSED && record_is_frozen(&project->r)) {
        error_set(err, ERROR_STATE, "\"%s\" is frozen for request #%lld", name,
                  (long long)project->r.frozen_for);
        return error_hint(err,
                          "answer it (`hutch requests`), or --thaw lets the machine go on without an answer");
    }
    if (project->vm == VM_PAUSED) {
        error_set(err, ERROR_STATE, "\"%s\" is paused", name);
        return error_hint(err, "`hutch resume %s` lets it go on", name);
    }
    error_set(err, ERROR_STATE, "\"%s\" does not run (%s)", name, project_state(project));
    return error_hint(err, project->r.made ? "`hutch start %s` starts it" : "`hutch up %s` finishes it",
                      name);
}

/* Why the state is as it is, for failed and unusual states; NULL if there is nothing to say. */
static const char *failure_text(const struct project *project)
{
    if (!project->known)
        return "libvirt has not answered yet; `hutch doctor` says why";
    if (project->vm == VM_PAUSED && project->reason == VM_REASON_IO_ERROR)
        return "its disk could not be written (is the host's disk full?); make room, then `hutch resume`";
    if (project->disk_missing && project->r.made && !project->r.failure)
        return "the file of its disk is missing; put it back, or `hutch rm` removes the project";
    if (project->vm == VM_ABSENT && project->r.made && !project->r.saved && !project->r.failure)
        return "its libvirt domain is missing; `hutch start` defines it again";
    if (!project->busy && !project->r.failure && project->r.step != STEP_NONE && !project_alive(project))
        return "it was interrupted; the same command goes on, `hutch rm` removes it";
    return project->r.failure;
}

json_t *project_json(const struct project *project, uint64_t disk_used)
{
    const struct record *r = &project->r;
    const char *failure = failure_text(project);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:[], s:n, s:i, s:i}", "id", r->id, "name", r->name,
                             "state", project_state(project), "template", r->template, "base", r->base,
                             "kits", "agent", "waiting", (int)project->waiting, "net_rate", 0);

    require(json);
    json_object_set_new(json, "disk", json_integer((json_int_t)disk_used));
    json_object_set_new(json, "cpus", json_integer(r->cpus));
    json_object_set_new(json, "memory", json_integer((json_int_t)r->memory));
    json_object_set_new(json, "disk_size", json_integer((json_int_t)r->disk));
    json_object_set_new(json, "folder", r->folder ? json_string(r->folder) : json_null());
    json_object_set_new(json, "created_ns", json_integer(r->created_ns));
    json_object_set_new(json, "accel", json_string(project->kvm ? "kvm" : "emulated"));
    if (r->saved && r->stored_for)
        json_object_set_new(json, "stored_for", json_integer(r->stored_for));
    json_object_set_new(json, "frozen_for", record_is_frozen(r) ? json_integer(r->frozen_for) : json_null());
    json_object_set_new(json, "step", r->step ? json_string(step_name(r->step)) : json_null());
    json_object_set_new(json, "doing", r->step ? json_string(step_about(r->step)) : json_null());
    json_object_set_new(json, "failure", failure ? json_string(failure) : json_null());
    json_object_set_new(json, "ip", json_null());
    return json;
}
