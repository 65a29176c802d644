/* fake.h: the parts of the fake host: its machines in memory and in a file (fake_store.c), and the calls
 * (fake.c). */
#ifndef HUTCH_VM_FAKE_H
#define HUTCH_VM_FAKE_H

#include "base/error.h"
#include "vm/vm.h"

#include <sys/types.h>

#define FAKE_MACHINES_MAX 64

struct fake_machine {
    struct vm_info info;
    char *ports[3], *console_log;
    char **chain;     /* as defined */
    pid_t pid;        /* hutch-fake-machine, 0 without */
    uint64_t started; /* its start time by /proc: a pid alone may be another process's by now */
};
struct fake_store {
    char *path; /* folder/fake.json */
    struct fake_machine machines[FAKE_MACHINES_MAX];
    size_t count;
};

/* Reads the file (missing: no machines). A machine whose process has gone meanwhile is off. */
int fake_store_load(struct fake_store *store, const char *folder, struct error **err);
int fake_store_save(const struct fake_store *store, struct error **err);
void fake_store_finish(struct fake_store *store);
/* NULL if there is none. */
struct fake_machine *fake_store_find(struct fake_store *store, const char *uuid);
/* Takes over what a spec says; a new machine is off. ERROR_LIMIT. */
int fake_store_put(struct fake_store *store, const struct vm_spec *spec, struct error **err);
void fake_store_remove(struct fake_store *store, const char *uuid);
/* Start time of a process in clock ticks since boot, 0 if it is not there. */
uint64_t fake_process_started(pid_t pid);
/* Whether the machine's process is there (and is the same one). */
bool fake_machine_alive(const struct fake_machine *machine);

#endif
