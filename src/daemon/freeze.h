/* freeze.h: FROZEN: a machine stands still while a person is asked about what it wants to do. Which boot, and
 * for which request, is recorded before libvirt is asked to pause it, so that only what we froze is ever
 * thawed. It goes through the project's lane, so never during a save or restore; whatever resumed it
 * meanwhile, it is frozen again after that. A freeze does not outlive hutchd: the streams it was for are gone
 * then. */
#ifndef HUTCH_DAEMON_FREEZE_H
#define HUTCH_DAEMON_FREEZE_H

#include "daemon/work.h"
#include "vm/vm.h"

struct freeze_params {
    int64_t request;
};
extern const struct job_kind freeze_kind; /* params: struct freeze_params; nothing if it does not run */
/* params: struct freeze_params; nothing if it is not frozen for that request (0: for any). */
extern const struct job_kind thaw_kind;
/* power.c. params: struct freeze_params: saves to disk what is frozen for that request; its answer wakes it.
 */
extern const struct job_kind store_kind;

/* ---- job threads ---- */
/* Pauses it again if it runs although it is frozen; *info is then as after that. */
int freeze_assert(struct work *work, struct vm_info *info, struct error **err);
/* That it stands still is somebody else's affair from now on (a pause, a memory image): only the record. */
int freeze_forget(struct work *work, struct error **err);
/* Lets go on what is frozen, for whatever request: after a start of hutchd, and when a person says so. */
int freeze_undo(struct work *work, struct error **err);

#endif
