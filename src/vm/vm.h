/* vm.h: virtual machines of this host as hutch sees them. A vtable with two behind it: libvirt (libvirt.c)
 * and a fake (fake.c) for tests without a hypervisor. All calls block (a destroy takes seconds): they run on
 * the project's own job thread, never on the loop, one at a time for a VM. Errors carry libvirt's message; a
 * failed start carries QEMU's own last lines. */
#ifndef HUTCH_VM_VM_H
#define HUTCH_VM_VM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vm_state { VM_ABSENT, VM_OFF, VM_RUNNING, VM_PAUSED, VM_CRASHED, VM_STOPPING };

enum vm_reason { /* why it is so, as far as libvirt says */
                 VM_REASON_NONE,
                 VM_REASON_USER,
                 VM_REASON_IO_ERROR,
                 VM_REASON_SAVED,
                 VM_REASON_GUEST,
                 VM_REASON_CRASH,
                 VM_REASON_FAILED,
                 VM_REASON_JOB, /* paused by libvirt while it saves or snapshots; not told by events */
};

struct vm_spec {
    char name[64]; /* "hutch-NAME-ID" */
    char uuid[37];
    char project[40]; /* project id, kept in the domain's metadata */
    unsigned cpus;
    uint64_t memory;  /* bytes */
    const char *disk; /* top layer (qcow2, explicit format); error_policy=stop, discard=unmap */
    const char *const
        *chain; /* all files from the top to the base, NULL-ended: what QEMU may open and must have open */
    const char *kernel, *initrd, *command_line;
    const char *ports[3]; /* socket paths of control, egress, bulk */
    const char *console_log;
    /* The layers' folder: QEMU may write the files in it (overlays that libvirt makes); best nothing else is
     * there. */
    const char *folder;
    const char *cpu_model; /* NULL: host-passthrough under KVM, "max" under emulation */
    bool emulate;          /* even if KVM is there */
};

struct vm_info {
    char uuid[37], name[64], project[40];
    enum vm_state state;
    enum vm_reason reason;
    bool has_managed_save; /* libvirt would resume an image by itself: never let it; events leave it out */
    bool kvm;
};

struct vm_host_info {
    char hypervisor[64]; /* "QEMU 7.2.0", "fake" */
    char uri[64];
    unsigned long libvirt_version;
    unsigned cpus;
    uint64_t memory_total, memory_free; /* bytes; free: MemAvailable */
    bool kvm;
    char kvm_reason[128]; /* why not */
};

/* Called on the event thread with copies: post it to your loop, do nothing else. */
typedef void (*vm_event_fn)(const struct vm_info *info, void *user);

struct vm_host;
struct vm_host_ops {
    /* Writes the domain's definition (a changed one replaces it). The domain is off. */
    int (*define)(struct vm_host *host, const struct vm_spec *spec, struct error **err);
    int (*undefine)(struct vm_host *host, const char *uuid,
                    struct error **err); /* a managed-save image goes too; absent is no error */
    /* Starts it, after removing any managed-save image (*ret_dropped_save says so). paused: QEMU is up, the
     * guest does not run. */
    int (*start)(struct vm_host *host, const char *uuid, bool paused, bool *ret_dropped_save,
                 struct error **err);
    int (*destroy)(struct vm_host *host, const char *uuid,
                   struct error **err); /* force off; absent or off is no error */
    int (*pause)(struct vm_host *host, const char *uuid, struct error **err);
    int (*resume)(struct vm_host *host, const char *uuid, struct error **err);
    /* Memory to a file of hutch's own, VM off afterwards (virDomainSave); and back (paused or running).
     * libvirt goes on when the caller dies meanwhile, and marks an image that is not whole, so that restore
     * refuses it. restore replaces every path in the image's XML by the spec's and refuses devices that
     * define does not write; the image stays. */
    int (*save)(struct vm_host *host, const char *uuid, const char *path, struct error **err);
    int (*restore)(struct vm_host *host, const struct vm_spec *spec, const char *path, bool paused,
                   struct error **err);
    /* From now on the machine (running or paused) writes to overlay, an empty qcow2 file that hutch made on
     * the present top; that one is left as it is at this moment. All or nothing; the machine does not stop. */
    int (*snapshot)(struct vm_host *host, const char *uuid, const char *overlay, struct error **err);
    int (*info)(struct vm_host *host, const char *uuid, struct vm_info *ret_info,
                struct error **err); /* VM_ABSENT is no error */
    /* All domains that carry hutch's metadata of this installation. Caller frees *ret. */
    int (*list)(struct vm_host *host, struct vm_info **ret, size_t *ret_count, struct error **err);
    /* The chain of files that QEMU really has open for the disk, top first, NULL-ended; vm_free_chain. */
    int (*chain)(struct vm_host *host, const char *uuid, char ***ret_chain, struct error **err);
    /* Last lines of QEMU's log for an error message; caller frees; NULL if there is none. */
    char *(*log_tail)(struct vm_host *host, const char *name);
    int (*host_info)(struct vm_host *host, struct vm_host_info *ret, struct error **err);
    void (*close)(struct vm_host *host);
};
struct vm_host {
    const struct vm_host_ops *ops;
};

/* Where things are that the definition needs. */
struct vm_host_options {
    const char *uri;          /* NULL: qemu:///session, as root qemu:///system */
    const char *emulator;     /* full path of hutch-qemu */
    const char *installation; /* id of this installation (state), in the metadata: two HUTCH_HOMEs do not see
                                 each other */
    vm_event_fn on_event;
    void *user;
};
/* Connects (starts libvirt's event thread once). ERROR_HYPERVISOR / ERROR_MISSING with what to install or
 * start. The connection is made again by itself when libvirtd was restarted. */
int vm_host_libvirt(const struct vm_host_options *options, struct vm_host **ret_host, struct error **err);
/* The fake: state in memory and in folder/fake.json (survives), with faults set by HUTCH_FAKE (see fake.c). A
 * "started" fake VM runs the host's own hutch-guest on the three sockets when HUTCH_FAKE_GUEST names it, so
 * that the whole way can be tested. */
int vm_host_fake(const struct vm_host_options *options, const char *folder, struct vm_host **ret_host,
                 struct error **err);

void vm_free_chain(char **chain);
/* Compares the real chain with ours (paths resolved): ERROR_CORRUPT names the first difference. */
int vm_check_chain(struct vm_host *host, const char *uuid, const char *const *expected, struct error **err);
const char *vm_state_name(enum vm_state state);

#endif
