/* The loop's side of machine.h: one guest for each machine that lives. */
#include "daemon/machine.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/exec_end.h"
#include "daemon/git_out.h"
#include "daemon/relay.h"
#include "daemon/way.h"

#include <string.h>

struct attachment {
    struct attachment *next;
    struct daemon *daemon;
    struct guest *guest;
    char id[PROJECT_ID_MAX];
    bool ran; /* the machine ran when it was looked at last */
};

struct attachments {
    struct daemon *daemon;
    struct attachment *first;
};

struct attachments *attachments_create(struct daemon *daemon)
{
    struct attachments *attachments = xnew(struct attachments);

    attachments->daemon = daemon;
    return attachments;
}

/* Takes the guest of *at away. */
static void detach(struct daemon *daemon, struct attachment **at)
{
    struct attachment *attachment = *at;

    *at = attachment->next;
    guest_pool_put(daemon->guests, attachment->id, NULL);
    guest_destroy(attachment->guest);
    way_attach(daemon, attachment->id, NULL);
    free(attachment);
}

void attachments_destroy(struct attachments *attachments)
{
    if (!attachments)
        return;
    while (attachments->first)
        detach(attachments->daemon, &attachments->first);
    free(attachments);
}

static struct attachment **find(struct daemon *daemon, const char *id)
{
    struct attachment **at = &daemon->attachments->first;

    while (*at && strcmp((*at)->id, id))
        at = &(*at)->next;
    return at;
}

static bool load_key(const char *project, uint32_t port, uint8_t key[32], void *user)
{
    struct attachment *attachment = user;

    return state_key_load(attachment->daemon->state, project, port, key);
}

static int save_key(const char *project, uint32_t port, const uint8_t key[32], void *user, struct error **err)
{
    struct attachment *attachment = user;

    return state_key_save(attachment->daemon->state, project, port, key, err);
}

static void on_clock_set(const struct wmsg_item *item, const struct error *err, void *user)
{
    (void)item;
    (void)user;
    if (err)
        log_debug("clock: %s", err->message);
}

static const struct guest_call_ops clock_ops = {.on_result = on_clock_set};

/* A guest that came into step may have slept: its clock first. */
static void set_clock(struct guest *guest)
{
    autofree char *body = xasprintf("{\"time_ns\":%lld}", (long long)units_now_ns());
    struct guest_call call = {
        .op = GUEST_OP_PUT, .port = PORT_CONTROL, .path = "/v1/clock", .body = body, .stream = -1};

    guest_call(guest, &call, &clock_ops, NULL, NULL);
}

static void on_state(struct guest *guest, bool up, void *user)
{
    struct attachment *attachment = user;
    struct daemon *daemon = attachment->daemon;
    struct project *project = projects_lock(daemon->projects, attachment->id);

    if (project) {
        project->guest_up = up;
        projects_unlock(daemon->projects);
    }
    if (!up)
        return;
    set_clock(guest);
    way_guest_up(daemon, attachment->id);
    exec_end_watch(daemon, attachment->id, guest);
    relay_retry(daemon, attachment->id);
    git_out_session_ended(daemon, attachment->id); /* what was pushed while nobody listened */
}

static void on_alert(struct guest *guest, const char *text, void *user)
{
    struct attachment *attachment = user;
    autofree char *safe = text_safe(text);

    (void)guest;
    log_warning("project %s: %s", attachment->id, safe);
    daemon_noted(attachment->daemon, attachment->id, "finding.guest", safe);
}

static bool on_flow(struct guest *guest, const void *message, void *user)
{
    struct attachment *attachment = user;

    (void)guest;
    return way_take(attachment->daemon, attachment->id, message);
}

static void on_flows_lost(struct guest *guest, void *user)
{
    struct attachment *attachment = user;

    (void)guest;
    way_lost(attachment->daemon, attachment->id);
}

/* Makes the guest of a machine that lives. */
static void attach(struct daemon *daemon, const char *id)
{
    static const char *const names[PORT_COUNT] = {
        [PORT_CONTROL] = "c.sock", [PORT_EGRESS] = "e.sock", [PORT_BULK] = "b.sock"};
    struct attachment *attachment = xnew(struct attachment);
    auto(error) struct error *err = NULL;
    char *ports[PORT_COUNT];
    struct guest_options options = {
        .loop = &daemon->loop,
        .worker_program = daemon->worker_program,
        .project = id,
        .load_key = load_key,
        .save_key = save_key,
        .on_state = on_state,
        .on_alert = on_alert,
        .on_flow = on_flow,
        .on_flows_lost = on_flows_lost,
        .user = attachment,
    };
    int rc = 0;

    attachment->daemon = daemon;
    snprintf(attachment->id, sizeof(attachment->id), "%s", id);
    for (int i = 0; i < PORT_COUNT; i++)
        options.ports[i] = ports[i] = daemon_socket_path(daemon, id, names[i]);
    if (!daemon->worker_program)
        rc = error_set(&err, ERROR_MISSING, "hutch-worker is not installed beside hutchd");
    if (rc == 0)
        rc = guest_create(&options, &attachment->guest, &err);
    for (int i = 0; i < PORT_COUNT; i++)
        free(ports[i]);
    if (rc < 0) {
        log_error("project %s: %s", id, err->message);
        free(attachment);
        return;
    }
    attachment->next = daemon->attachments->first;
    daemon->attachments->first = attachment;
    guest_pool_put(daemon->guests, id, attachment->guest);
    way_attach(daemon, id, attachment->guest);
}

void machine_sync(struct daemon *daemon, const char *id)
{
    struct project *project = projects_lock(daemon->projects, id);
    struct attachment **at = find(daemon, id);
    bool wanted = false, running = false;

    if (project) {
        wanted = project_alive(project) && project->trusted;
        running = project->vm == VM_RUNNING;
        if (!wanted)
            project->guest_up = project->have_health = false;
        projects_unlock(daemon->projects);
    }
    if (!wanted && *at)
        detach(daemon, at);
    else if (wanted && !*at)
        attach(daemon, id);
    if (!project)
        way_forget(daemon, id);
    at = find(daemon, id);
    if (*at) {
        guest_revive((*at)->guest);
        guest_set_running((*at)->guest, running);
        if (running && !(*at)->ran && guest_up((*at)->guest))
            set_clock((*at)->guest); /* while it stood still so did its clock */
        (*at)->ran = running;
    }
    relay_retry(daemon, id); /* what waits for the guest may have to give up now */
}

struct guest *machine_guest(struct daemon *daemon, const char *id)
{
    struct guest *guest = guest_pool_get(daemon->guests, id);

    return guest && guest_up(guest) ? guest : NULL;
}

void machine_set_clocks(struct daemon *daemon)
{
    for (struct attachment *attachment = daemon->attachments->first; attachment;
         attachment = attachment->next) {
        if (guest_up(attachment->guest))
            set_clock(attachment->guest);
    }
}

void machine_check(struct daemon *daemon, const char *id)
{
    if (!daemon->quitting && !job_waits(daemon->jobs, id, &machine_check_kind))
        job_submit(daemon->jobs, id, &machine_check_kind, NULL);
}

struct event_post {
    struct daemon *daemon;
    char uuid[37];
};

static void on_event(void *user)
{
    struct event_post *post = user;
    char id[PROJECT_ID_MAX];

    /* What the event says may be old when it gets here: the lane asks libvirt for the present state. */
    if (projects_find_uuid(post->daemon->projects, post->uuid, id))
        machine_check(post->daemon, id);
    free(post);
}

void machine_post_event(struct daemon *daemon, const struct vm_info *info)
{
    struct event_post *post = xnew(struct event_post);

    post->daemon = daemon;
    memcpy(post->uuid, info->uuid, sizeof(post->uuid));
    post_call(daemon->posts, on_event, post);
}
