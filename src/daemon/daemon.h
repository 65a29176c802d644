/* daemon.h: what the parts of hutchd share. One thread runs the loop and owns sockets, clients, guests and
 * the API; jobs (job.h) run on threads of their own and use what is marked [any thread]. */
#ifndef HUTCH_DAEMON_DAEMON_H
#define HUTCH_DAEMON_DAEMON_H

#include "base/paths.h"
#include "daemon/guest.h"
#include "daemon/job.h"
#include "daemon/post.h"
#include "daemon/project.h"
#include "daemon/state.h"
#include "journal/journal.h"
#include "vm/vm.h"

#include <pthread.h>
#include <uv.h>

struct server;
struct events;
struct attachments;
struct ways;
struct inbox;
struct inbox_egress;
struct inbox_grants;

struct daemon {
    uv_loop_t loop;
    struct paths *paths;       /* [any thread], never changes */
    struct state *state;       /* [any thread] */
    struct journal *journal;   /* [any thread] */
    struct projects *projects; /* [any thread] */
    struct posts *posts;       /* [any thread] */
    struct guest_pool *guests; /* guest_call_wait: [any thread] */
    struct jobs *jobs;
    struct server *server;
    struct events *events;             /* who follows the journal */
    struct attachments *attachments;   /* machine.h */
    struct inbox *inbox;               /* requests of all projects */
    struct inbox_egress *inbox_egress; /* those of flows */
    struct inbox_grants *inbox_grants; /* answers that go on to hold */
    struct ways *ways;                 /* way.h */
    pthread_mutex_t host_lock;
    struct vm_host *host;          /* by daemon_host */
    struct vm_host_info host_info; /* as libvirt said at the connect; under host_lock */
    char *worker_program, *guest_program, *emulator;
    bool kvm;     /* /dev/kvm opens; [any thread], never changes */
    bool settled; /* reconciliation with libvirt is done */
    bool quitting;
    void (*on_idle)(struct daemon *daemon); /* quit: called when the last job has ended */
};

/* Makes everything from the paths; the loop is initialised, nothing listens yet. */
int daemon_create(struct paths *paths /* owned */, struct daemon **ret_daemon, struct error **err);
/* After the loop has ended. */
void daemon_destroy(struct daemon *daemon);
/* Ends the loop; VMs and their sessions go on. */
void daemon_stop(struct daemon *daemon);
/* A lane is empty (job.c tells). */
void daemon_job_ended(struct daemon *daemon);

/* The connection to the hypervisor, made at the first call that succeeds. [job threads] */
int daemon_host(struct daemon *daemon, struct vm_host **ret_host, struct error **err);
/* "libvirt 9.0.0, QEMU 7.2" as at the connect; false if there was none yet. [any thread] */
bool daemon_host_info(struct daemon *daemon, struct vm_host_info *ret_info);

/* Appends an event of a project (NULL: of hutchd). An act that must be on record asks before it acts and
 * gives up on failure. [any thread] */
int daemon_journal(struct daemon *daemon, const struct event *event, struct error **err);
/* The same, synced to the disk: a person's decision. [any thread] */
int daemon_journal_durable(struct daemon *daemon, const struct event *event, struct error **err);
int daemon_note(struct daemon *daemon, const char *project, const char *kind, const char *subject,
                struct error **err);
/* The same for what has happened already: a failure is logged. [any thread] */
void daemon_noted(struct daemon *daemon, const char *project, const char *kind, const char *subject);

/* Places of a project: data/projects/ID[/NAME] and run/p/ID[/NAME]; name NULL: the folder. Callers free. [any
 * thread] */
char *daemon_project_path(const struct daemon *daemon, const char *id, const char *name);
char *daemon_socket_path(const struct daemon *daemon, const char *id, const char *name);

#endif
