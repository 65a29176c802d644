#include "daemon/show.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "daemon/inbox.h"
#include "daemon/layers.h"
#include "daemon/state_snapshots.h"
#include "daemon/way.h"
#include "wire/json.h"

#include <openssl/evp.h>
#include <string.h>

static const char *const phase_names[] = {
    [PHASE_NONE] = "none",     [PHASE_KERNEL] = "kernel", [PHASE_AGENT] = "agent",
    [PHASE_SYSTEM] = "system", [PHASE_READY] = "ready",   [PHASE_FAILED] = "failed",
};
static const char *const capture_names[] = {
    [CAPTURE_UNKNOWN] = "", [CAPTURE_ON] = "on", [CAPTURE_PENDING] = "pending", [CAPTURE_OFF] = "off"};
static const char *const session_states[] = {
    [SESSION_STARTING] = "starting",
    [SESSION_RUNNING] = "running",
    [SESSION_EXITED] = "exited",
    [SESSION_LOST] = "lost",
};
static const char *const file_types[] = {
    [FILE_NONE] = "none", [FILE_REGULAR] = "regular", [FILE_FOLDER] = "folder",
    [FILE_LINK] = "link", [FILE_OTHER] = "other",
};

/* A name of a table by a number from outside. */
#define NAME_OF(table, number) ((number) < countof(table) ? table[number] : "unknown")

static void set(json_t *object, const char *key, json_t *value /* owned */)
{
    require(json_object_set_new(object, key, value) == 0);
}

/* Text of the guest for showing. */
static void set_safe(json_t *object, const char *key, const char *text)
{
    autofree char *safe = text_safe(text);

    set(object, key, json_string(safe));
}

/* Text of the guest that a client gives back: as it is, where it is UTF-8. */
static void set_raw(json_t *object, const char *key, const char *bytes, size_t len)
{
    set(object, key, json_bytes(bytes, len));
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
    set(object, key, json_integer((json_int_t)value));
}

json_t *show_health(const struct guest_health *health)
{
    json_t *json = json_object();

    set_number(json, "version", health->version);
    set(json, "phase", json_string(NAME_OF(phase_names, health->phase)));
    set_safe(json, "boot_id", health->boot_id);
    set_safe(json, "hostname", health->hostname);
    set_safe(json, "kernel", health->kernel);
    set_safe(json, "os", health->os);
    set(json, "time_ns", json_integer(health->time_ns));
    set(json, "uptime_ms", json_integer(health->uptime_ms));
    set_number(json, "memory_total", health->memory_total);
    set_number(json, "memory_available", health->memory_available);
    set_number(json, "disk_size", health->disk_size);
    set_number(json, "disk_free", health->disk_free);
    set_safe(json, "failed_units", health->failed_units);
    if (health->capture)
        set(json, "capture", json_string(NAME_OF(capture_names, health->capture)));
    if (health->proxy[0])
        set_safe(json, "proxy", health->proxy);
    if (health->capture_reason[0])
        set_safe(json, "capture_reason", health->capture_reason);
    return json;
}

static json_t *show_session(const struct guest_session *s)
{
    json_t *json = json_object();

    set_safe(json, "id", s->id);
    set(json, "state", json_string(NAME_OF(session_states, s->state)));
    set(json, "pty", json_boolean(s->pty));
    set_number(json, "pid", s->pid);
    set(json, "attached", json_boolean(s->attached));
    set(json, "exit_status", json_integer(s->exit_status));
    set_number(json, "signal", s->signal);
    set(json, "timed_out", json_boolean(s->timed_out));
    set(json, "started_ns", json_integer(s->started_ns));
    set(json, "ended_ns", json_integer(s->ended_ns));
    set_number(json, "user_us", s->user_us);
    set_number(json, "system_us", s->system_us);
    set_number(json, "max_rss", s->max_rss);
    set_number(json, "out_total", s->out_total);
    set_number(json, "err_total", s->err_total);
    set_number(json, "out_start", s->out_start);
    set_number(json, "err_start", s->err_start);
    set_safe(json, "command", s->command);
    set_raw(json, "cwd", s->cwd, strlen(s->cwd));
    set_safe(json, "user", s->user);
    set_safe(json, "label", s->label);
    return json;
}

/* Whether bytes are UTF-8 that JSON can carry. */
static bool is_utf8(const char *bytes, size_t len)
{
    auto(json) json_t *text = json_stringn(bytes, len);

    return text != NULL;
}

static json_t *show_file(const struct guest_file *file)
{
    json_t *json = json_object();
    size_t name_len = file->name_len < sizeof(file->name) ? file->name_len : sizeof(file->name);
    size_t target_len = file->target_len < sizeof(file->target) ? file->target_len : sizeof(file->target);

    set_raw(json, "name", file->name, name_len);
    if (!is_utf8(file->name, name_len)) {
        unsigned char text[4 * (sizeof(file->name) / 3 + 1) + 1];

        EVP_EncodeBlock(text, (const unsigned char *)file->name, (int)name_len);
        set(json, "name_b64", json_string((const char *)text));
    }
    set(json, "type", json_string(NAME_OF(file_types, file->type)));
    set_number(json, "mode", file->mode);
    set_number(json, "uid", file->uid);
    set_number(json, "gid", file->gid);
    set_number(json, "size", file->size);
    set(json, "mtime_ns", json_integer(file->mtime_ns));
    if (file->type == FILE_LINK)
        set_raw(json, "target", file->target, target_len);
    return json;
}

static json_t *show_repo(const struct guest_repo *repo)
{
    json_t *json = json_object();

    set_raw(json, "path", repo->path, strlen(repo->path));
    set_safe(json, "head", repo->head);
    set_safe(json, "commit", repo->commit);
    set(json, "empty", json_boolean(repo->empty));
    return json;
}

json_t *show_item(struct daemon *daemon, const char *project_id, const struct wmsg_item *item)
{
    struct project *project;
    json_t *json;

    switch ((enum guest_result_kind)item->kind) {
    case GUEST_HEALTH:
        return show_health(&item->u.health);
    case GUEST_FILE:
        return show_file(&item->u.file);
    case GUEST_REPO:
        return show_repo(&item->u.repo);
    case GUEST_SESSION:
        json = show_session(&item->u.session);
        project = projects_lock(daemon->projects, project_id);
        if (project) {
            set(json, "project", json_string(project->r.name));
            projects_unlock(daemon->projects);
        }
        return json;
    default:
        return json_object();
    }
}

/* Text that may be absent. */
static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* Since when it stands still: the question for which it does knows. */
static void show_frozen(struct daemon *daemon, json_t *json)
{
    int64_t id = json_integer_value(json_object_get(json, "frozen_for"));
    const struct approval_request *request =
        id && daemon->inbox ? approval_find(inbox_approval(daemon->inbox), id) : NULL;

    if (request && request->state == APPROVAL_FROZEN)
        set(json, "frozen_ns", json_integer(request->changed_ms * 1000000));
}

json_t *show_project_row(struct daemon *daemon, const char *id)
{
    autofree char *folder = daemon_project_path(daemon, id, NULL);
    uint64_t used = file_disk_usage(folder);
    struct project *project = projects_lock(daemon->projects, id);
    json_t *json = NULL;

    if (project) {
        json = project_json(project, used);
        projects_unlock(daemon->projects);
    }
    if (json) {
        way_show_use(daemon, id, json);
        show_frozen(daemon, json);
    }
    return json;
}

static json_t *show_repos(const struct record *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->repo_count; i++) {
        const struct repo_row *row = &r->repos[i];
        json_t *json = json_object();

        set(json, "name", json_string(row->name));
        set(json, "source", json_string(row->spec));
        set(json, "remote", text_or_null(row->remote));
        set(json, "ref", text_or_null(row->ref));
        set(json, "commit", text_or_null(row->commit));
        set(json, "path", json_string(row->target));
        set(json, "done", json_boolean(row->done));
        json_array_append_new(list, json);
    }
    return list;
}

/* The layers of its disk, top first: the one that is written, those below it, and the base. */
static json_t *show_layers(struct daemon *daemon, const struct record *r)
{
    autofree struct layer_row *rows = NULL;
    json_t *list = json_array();
    size_t count = 0;

    if (state_layers_path(daemon->state, r->id, r->layer, &rows, &count, NULL) < 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        autofree char *path = layers_file(daemon, rows[i].project, rows[i].number);
        json_t *layer = json_object();

        set(layer, "path", json_string(path));
        set_number(layer, "disk", file_disk_usage(path));
        set(layer, "frozen", json_boolean(rows[i].frozen));
        json_array_append_new(list, layer);
    }
    if (r->base[0])
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b}", "base", r->base, "template", r->template, "frozen", 1));
    return list;
}

json_t *show_project(struct daemon *daemon, const char *id)
{
    json_t *json = show_project_row(daemon, id), *vm = json_object(), *guest = NULL;
    struct project *project = projects_lock(daemon->projects, id);
    struct record r = {0};

    if (!json || !project) {
        if (project)
            projects_unlock(daemon->projects);
        json_decref(json);
        json_decref(vm);
        return NULL;
    }
    record_copy(&r, &project->r);
    set(vm, "state", json_string(vm_state_name(project->vm)));
    set(vm, "uuid", json_string(r.uuid));
    set(vm, "boot", json_string(r.boot));
    set(vm, "busy", text_or_null(project->busy));
    set(vm, "saved", json_boolean(r.saved));
    if (project->have_health)
        guest = show_health(&project->health);
    else if (project_alive(project))
        guest = json_object();
    if (guest)
        set(guest, "up", json_boolean(project->guest_up));
    projects_unlock(daemon->projects);
    set(vm, "domain", json_sprintf("hutch-%s-%s", r.name, r.id));
    set(json, "vm", vm);
    set(json, "guest", guest ? guest : json_null());
    set(json, "repos", show_repos(&r));
    set(json, "layers", show_layers(daemon, &r));
    record_finish(&r);
    return json;
}

/* Sets what is known. */
static void set_known_text(json_t *json, const char *key, const char *text)
{
    if (text)
        set(json, key, json_bytes(text, strlen(text)));
}

static void set_known_number(json_t *json, const char *key, int64_t value)
{
    if (value >= 0)
        set(json, key, json_integer(value));
}

json_t *show_event(const struct event *event)
{
    json_t *json = json_object();
    json_t *data = event->data ? json_parse(event->data, strlen(event->data), NULL) : NULL;

    set(json, "seq", json_integer(event->seq));
    set(json, "ts_ns", json_integer(event->ts));
    set_known_text(json, "project", event->project);
    set_known_text(json, "boot", event->boot);
    set_known_text(json, "session", event->session);
    set_known_text(json, "kind", event->kind);
    set_known_text(json, "actor", event->actor);
    set_known_text(json, "subject", event->subject);
    set_known_text(json, "verdict", event->verdict);
    set_known_text(json, "rule", event->rule);
    set_known_number(json, "bytes_up", event->bytes_up);
    set_known_number(json, "bytes_down", event->bytes_down);
    set_known_number(json, "ms", event->ms);
    set_known_number(json, "exit", event->exit);
    if (data)
        set(json, "data", data);
    set_known_text(json, "prev", event->prev);
    set_known_text(json, "hash", event->hash);
    return json;
}
