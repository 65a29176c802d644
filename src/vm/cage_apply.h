/* cage_apply.h: hutch-qemu's side of a cage: the process gives up everything that QEMU does not need. One
 * way, kept over exec. Three walls, each of which holds alone for what it covers: Landlock (files; bubblewrap
 * where the kernel has no Landlock), an empty network namespace, and a seccomp filter under QEMU's own (no
 * new sockets, no connect, nothing that reaches other processes). */
#ifndef HUTCH_VM_CAGE_APPLY_H
#define HUTCH_VM_CAGE_APPLY_H

#include "base/error.h"
#include "vm/cage.h"

enum cage_kind {
    CAGE_MACHINE, /* runs a machine */
    CAGE_PROBE,   /* libvirt asks QEMU what it can do: -machine none, it makes its own monitor socket and
                     daemonizes */
};

/* What libvirt's command line says beyond the list: folder of a probe, the machine's master key; NULL when
 * absent. ERROR_INVALID when it is neither a probe nor comes with a list. The strings lie in argv or are
 * owned by the struct. */
struct cage_command {
    enum cage_kind kind;
    char *probe_folder; /* CAGE_PROBE: writable */
    char *master_key;   /* CAGE_MACHINE: readable; NULL if there is none */
};
int cage_command_read(char *const *argv, bool has_list, struct cage_command *ret_command, struct error **err);
void cage_command_finish(struct cage_command *command);

/* An empty network, IPC and user namespace; the process keeps its ids. Without user namespaces: 0 too,
 * *ret_done false; the filter of cage_apply_filter then is the wall. */
int cage_apply_namespaces(bool *ret_done, struct error **err);
/* Every path of the list must be there (ERROR_NOT_FOUND) and be what it is said to be, no link
 * (ERROR_INVALID): what lies behind a link is not what was meant. */
int cage_check(const struct cage *cage, struct error **err);
/* Landlock. ERROR_MISSING: this kernel has none (use bubblewrap). */
int cage_apply_files(const struct cage *cage, const struct cage_command *command, struct error **err);
/* The argv of bubblewrap that then runs self (this program) with the arguments behind it. Caller frees with
 * cage_bubblewrap_free. */
char **cage_bubblewrap(const struct cage *cage, const struct cage_command *command, const char *self,
                       char *const *arguments);
void cage_bubblewrap_free(char **argv);
/* no_new_privs and the seccomp filter. pid: the process that may signal itself (0: no check of signals). */
int cage_apply_filter(enum cage_kind kind, int pid, struct error **err);

#endif
