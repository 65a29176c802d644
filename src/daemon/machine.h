/* machine.h: a project's machine: its definition, its start, what libvirt says of it, and the guest (guest.h)
 * that is attached to it while it lives. The truth about a machine is always libvirt's: it is asked after
 * every operation and every event. */
#ifndef HUTCH_DAEMON_MACHINE_H
#define HUTCH_DAEMON_MACHINE_H

#include "daemon/work.h"

/* ---- loop thread: guests ---- */
struct attachments *attachments_create(struct daemon *daemon);
void attachments_destroy(struct attachments *attachments);
/* Makes the guest fit the table: there is one while the machine lives and its disk chain was checked; it runs
 * while the machine runs. */
void machine_sync(struct daemon *daemon, const char *id);
/* The project's guest when it is in step, else NULL. */
struct guest *machine_guest(struct daemon *daemon, const char *id);
/* Sets the clock of every running guest (after a sleep or a jump of the host's clock). */
void machine_set_clocks(struct daemon *daemon);
/* Asks libvirt about a project, on its lane. */
void machine_check(struct daemon *daemon, const char *id);
extern const struct job_kind machine_check_kind;

/* ---- any thread ---- */
void machine_post_event(struct daemon *daemon, const struct vm_info *info);

/* ---- job threads ---- */
/* Asks libvirt and writes the answer into the table. */
int machine_refresh(struct work *work, struct vm_info *ret_info, struct error **err);
/* Puts the table, the records and the guest in accord with what libvirt says, whoever caused it: an image
 * that was overtaken is dropped, a machine that runs on another disk is stopped, one that lives gets its
 * guest. */
int machine_settle(struct work *work, struct vm_info *ret_info, struct error **err);
/* Writes the definition from the record, the pinned base and the disk's chain; makes the initrd. */
int machine_define(struct work *work, struct error **err);
/* What the hypervisor is told of a machine, from the record, the pinned base and the disk's chain.
 * ERROR_NOT_FOUND, ERROR_CORRUPT: the base or a layer is missing. machine_spec_finish frees. */
struct machine_spec {
    struct vm_spec spec;
    char *strings[8]; /* that spec points to */
    char **chain;
    struct base *base;
};
int machine_spec_make(struct work *work, struct machine_spec *ret, struct error **err);
void machine_spec_finish(struct machine_spec *spec);
/* Cold start: new boot, keys forgotten, machine paused at its first instruction, chain checked, guest
 * attached, then let go. */
int machine_start(struct work *work, struct error **err);
/* Checks the chain of the machine that lives; on a difference it is stopped. Then guest bytes are accepted.
 */
int machine_trust(struct work *work, struct error **err);
/* Switches it off and takes the guest away. */
int machine_destroy(struct work *work, struct error **err);
/* Drops the memory image: recorded first, then removed. */
int machine_drop_image(struct work *work, struct error **err);
char *machine_image_path(const struct work *work);
/* The last lines of its console, safe to show; NULL if there are none. Caller frees. */
char *machine_console_tail(const struct daemon *daemon, const char *id, size_t lines);
/* The modules of the kernel that the host boots must be in the machine (a full-upgrade in it can take them
 * away): if they are not, that is said as progress, with the way out. */
void machine_check_modules(struct work *work);
/* One call to the guest with a JSON body (owned) and no stream. */
int machine_call(struct work *work, enum guest_op op, const char *path, json_t *body, unsigned timeout_ms,
                 struct wmsg_item *ret_item, struct error **err);

#endif
