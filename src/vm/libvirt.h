/* libvirt.h: the state that the parts of the libvirt host share: connection and events (libvirt.c), jobs on
 * machines (libvirt_ops.c), questions (libvirt_read.c). */
#ifndef HUTCH_VM_LIBVIRT_H
#define HUTCH_VM_LIBVIRT_H

#include "base/error.h"
#include "vm/domain_xml.h"
#include "vm/vm.h"

#include <libvirt/libvirt.h>
#include <pthread.h>
#include <stdatomic.h>

struct libvirt_host {
    struct vm_host base;
    char *uri, *emulator, *installation;
    bool apparmor, selinux; /* libvirt's drivers on this host */

    pthread_mutex_t connecting; /* one attempt at a time; taken before lock */
    pthread_mutex_t lock;       /* all below; held for moments */
    pthread_cond_t wake;        /* of the watcher */
    virConnectPtr conn;         /* NULL: there is none */
    int event_id;
    bool lost;   /* conn has ended */
    bool behind; /* events may have been missed: the watcher reports every state anew */
    bool ending;
    vm_event_fn on_event; /* NULL after close */
    void *user;
    struct vm_info *known; /* machines of this installation: events carry no metadata */
    size_t known_count;

    pthread_t watcher;
    atomic_int refs; /* owner and libvirt's callbacks */
};

/* One job or question; every function takes the members that it needs. */
struct libvirt_call {
    const char *uuid, *path;
    const struct vm_spec *spec;
    bool paused;
    bool *ret_dropped_save;
    struct vm_info *ret_info;
    struct vm_info **ret_list;
    size_t *ret_count;
    char ***ret_chain;
    struct vm_host_info *ret_host;
};
typedef int (*libvirt_fn)(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                          struct error **err);

/* Runs fn on a live connection, made anew if the old one ended. again: fn may be run a second time when
 * libvirtd went away under it, because doing it twice is doing it once. */
int libvirt_run(struct libvirt_host *host, libvirt_fn fn, const struct libvirt_call *call, bool again,
                struct error **err);
/* Copies libvirt's last error of this thread behind the formatted text, as one line, with a code and a hint.
 */
int libvirt_error(struct error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The domain, or NULL: then *ret_rc is 0 and err untouched if there is none. */
virDomainPtr libvirt_lookup(virConnectPtr conn, const char *uuid, int *ret_rc, struct error **err);
/* What domain_xml_build needs. */
struct domain_host libvirt_domain_host(const struct libvirt_host *host);
/* The domain of the call and its name for messages (asking for it later would clear libvirt's error); absent
 * is ERROR_NOT_FOUND. */
int libvirt_find(virConnectPtr conn, const char *uuid, virDomainPtr *ret_domain, const char **ret_name,
                 struct error **err);
/* libvirt_snapshot.c */
int libvirt_snapshot(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                     struct error **err);
/* Remembers a machine's name and project for events. */
void libvirt_remember(struct libvirt_host *host, const struct vm_info *info);

/* libvirt's states and reasons as ours; reason is of the given state. */
void libvirt_map_state(int state, int reason, struct vm_info *info);
int libvirt_read_info(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err);
int libvirt_read_list(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err);
int libvirt_read_chain(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                       struct error **err);
int libvirt_read_host(struct libvirt_host *host, virConnectPtr conn, const struct libvirt_call *call,
                      struct error **err);
extern const struct vm_host_ops libvirt_ops;
void libvirt_close(struct vm_host *host); /* libvirt.c */

#endif
