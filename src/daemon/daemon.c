#include "daemon/daemon.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/events.h"
#include "daemon/host.h"
#include "daemon/git_out.h"
#include "daemon/inbox.h"
#include "daemon/land.h"
#include "daemon/machine.h"
#include "daemon/server.h"
#include "daemon/way.h"

#include <string.h>

#define VM_FAKE "fake" /* HUTCH_VM=fake: no hypervisor; tests */

/* Runs on the hypervisor's event thread. */
static void on_vm_event(const struct vm_info *info, void *user)
{
    machine_post_event(user, info);
}

/* Loads the table of projects from what is recorded. */
static void add_project(const struct record *record, void *user)
{
    struct daemon *daemon = user;
    auto(error) struct error *err = NULL;
    struct project *project;

    if (projects_add(daemon->projects, record, &err) < 0) {
        log_error("%s", err->message);
        return;
    }
    project = projects_lock(daemon->projects, record->id);
    project->kvm = daemon->kvm;
    projects_unlock(daemon->projects);
}

/* Opens state.db and the journal, and fills the table. */
static int open_stores(struct daemon *daemon, struct error **err)
{
    autofree char *state = file_join(daemon->paths->state, "state.db");
    autofree char *journal = file_join(daemon->paths->state, "journal.db");
    int rc = state_open(state, &daemon->state, err);

    if (rc == 0)
        rc = journal_open(journal, false, &daemon->journal, err);
    if (rc == 0)
        rc = state_load(daemon->state, add_project, daemon, err);
    return rc;
}

/* Full paths of the helpers that are started often; a missing one is told when it is needed. */
static void find_programs(struct daemon *daemon)
{
    paths_program(daemon->paths, "hutch-worker", &daemon->worker_program, NULL);
    paths_program(daemon->paths, "hutch-guest", &daemon->guest_program, NULL);
    paths_program(daemon->paths, "hutch-qemu", &daemon->emulator, NULL);
}

int daemon_create(struct paths *paths, struct daemon **ret_daemon, struct error **err)
{
    struct daemon *daemon = xnew(struct daemon);
    int rc;

    daemon->paths = paths;
    pthread_mutex_init(&daemon->host_lock, NULL);
    require(uv_loop_init(&daemon->loop) == 0);
    daemon->projects = projects_create();
    daemon->posts = posts_create(&daemon->loop);
    daemon->guests = guest_pool_create(&daemon->loop);
    daemon->jobs = jobs_create(daemon);
    daemon->attachments = attachments_create(daemon);
    daemon->kvm = host_kvm(NULL, 0);
    find_programs(daemon);
    rc = open_stores(daemon, err);
    if (rc == 0)
        rc = inbox_create(daemon, &daemon->inbox, err);
    if (rc == 0)
        rc = inbox_egress_create(daemon, err);
    if (rc == 0)
        git_out_create(daemon);
    land_create();
    if (rc == 0)
        daemon->events = events_create(daemon);
    if (rc == 0)
        daemon->ways = ways_create(daemon);
    if (rc < 0) {
        daemon_destroy(daemon);
        return rc;
    }
    *ret_daemon = daemon;
    return 0;
}

void daemon_stop(struct daemon *daemon)
{
    uv_stop(&daemon->loop);
}

void daemon_destroy(struct daemon *daemon)
{
    if (!daemon)
        return;
    server_destroy(daemon->server);
    if (daemon->inbox)
        inbox_close(daemon->inbox);
    attachments_destroy(daemon->attachments);
    ways_destroy(daemon->ways);
    inbox_egress_destroy(daemon);
    git_out_destroy(daemon);
    inbox_destroy(daemon->inbox);
    events_destroy(daemon->events);
    jobs_destroy(daemon->jobs);
    guest_pool_destroy(daemon->guests);
    posts_destroy(daemon->posts);
    while (uv_run(&daemon->loop, UV_RUN_NOWAIT))
        ;
    uv_loop_close(&daemon->loop);
    if (daemon->host)
        daemon->host->ops->close(daemon->host);
    projects_destroy(daemon->projects);
    journal_close(daemon->journal);
    state_close(daemon->state);
    free(daemon->worker_program);
    free(daemon->guest_program);
    free(daemon->emulator);
    pthread_mutex_destroy(&daemon->host_lock);
    paths_free(daemon->paths);
    free(daemon);
}

void daemon_job_ended(struct daemon *daemon)
{
    if (daemon->on_idle && jobs_idle(daemon->jobs))
        daemon->on_idle(daemon);
}

/* Connects; the lock is held. */
static int connect_host(struct daemon *daemon, struct error **err)
{
    const char *kind = getenv("HUTCH_VM");
    struct vm_host_options options = {
        .uri = getenv("HUTCH_LIBVIRT_URI"),
        .emulator = daemon->emulator,
        .installation = state_installation(daemon->state),
        .on_event = on_vm_event,
        .user = daemon,
    };
    int rc;

    if (kind && !strcmp(kind, VM_FAKE)) {
        autofree char *folder = file_join(daemon->paths->data, "fake");

        rc = file_make_folder(folder, 0700, err);
        if (rc == 0)
            rc = vm_host_fake(&options, folder, &daemon->host, err);
    } else if (!daemon->emulator) {
        autofree char *path = NULL;

        rc = paths_program(daemon->paths, "hutch-qemu", &path, err);
    } else {
        rc = vm_host_libvirt(&options, &daemon->host, err);
    }
    if (rc == 0 && daemon->host->ops->host_info(daemon->host, &daemon->host_info, NULL) < 0)
        daemon->host_info = (struct vm_host_info){0};
    return rc;
}

int daemon_host(struct daemon *daemon, struct vm_host **ret_host, struct error **err)
{
    int rc = 0;

    pthread_mutex_lock(&daemon->host_lock);
    if (!daemon->host)
        rc = connect_host(daemon, err);
    if (rc == 0)
        *ret_host = daemon->host;
    pthread_mutex_unlock(&daemon->host_lock);
    return rc;
}

bool daemon_host_info(struct daemon *daemon, struct vm_host_info *ret_info)
{
    bool known;

    if (pthread_mutex_trylock(&daemon->host_lock) != 0)
        return false; /* it is being connected */
    known = daemon->host != NULL;
    if (known)
        *ret_info = daemon->host_info;
    pthread_mutex_unlock(&daemon->host_lock);
    return known;
}

static int write_event(struct daemon *daemon, const struct event *event, bool durable, struct error **err)
{
    struct event full = *event;
    char boot[17] = "", name[PROJECT_NAME_MAX];
    struct project *project = event->project ? projects_lock(daemon->projects, event->project) : NULL;
    int rc;

    if (project) {
        memcpy(boot, project->r.boot, sizeof(boot));
        memcpy(name, project->r.name, sizeof(name));
        projects_unlock(daemon->projects);
        full.project = name; /* the name is what people ask for, also when the project is gone */
    }
    if (!full.boot && boot[0])
        full.boot = boot;
    rc = journal_append(daemon->journal, &full, durable, NULL, err);
    if (rc < 0) {
        error_prefix(err, "the journal cannot be written");
        error_hint(err, "nothing is done without a record; make room on the disk and try again");
    }
    return rc;
}

int daemon_journal(struct daemon *daemon, const struct event *event, struct error **err)
{
    return write_event(daemon, event, false, err);
}

int daemon_journal_durable(struct daemon *daemon, const struct event *event, struct error **err)
{
    return write_event(daemon, event, true, err);
}

int daemon_note(struct daemon *daemon, const char *project, const char *kind, const char *subject,
                struct error **err)
{
    struct event event = EVENT_INIT;

    event.project = project;
    event.kind = kind;
    event.actor = "user";
    event.subject = subject;
    return daemon_journal(daemon, &event, err);
}

void daemon_noted(struct daemon *daemon, const char *project, const char *kind, const char *subject)
{
    auto(error) struct error *err = NULL;
    struct event event = EVENT_INIT;

    event.project = project;
    event.kind = kind;
    event.actor = "hutchd";
    event.subject = subject;
    if (daemon_journal(daemon, &event, &err) < 0)
        log_error("%s", err->message);
}

/* FOLDER/ID or FOLDER/ID/NAME. */
static char *place(const char *root, const char *folder, const char *id, const char *name)
{
    return name ? xasprintf("%s/%s/%s/%s", root, folder, id, name) : xasprintf("%s/%s/%s", root, folder, id);
}

char *daemon_project_path(const struct daemon *daemon, const char *id, const char *name)
{
    return place(daemon->paths->data, "projects", id, name);
}

char *daemon_socket_path(const struct daemon *daemon, const char *id, const char *name)
{
    return place(daemon->paths->run, "p", id, name);
}
