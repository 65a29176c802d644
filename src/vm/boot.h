/* boot.h: the initrd of a start: the base's own, followed by a second cpio that carries hutch-guest and the hook that starts it
 * before anything of the template's. */
#ifndef HUTCH_VM_BOOT_H
#define HUTCH_VM_BOOT_H

#include "base/error.h"

/* Writes `out` = base initrd + newc cpio with hutch-guest and the hook. Atomic; skipped when out is newer than both inputs and
 * carries the same digest. ERROR_MISSING names hutch-guest if it was not built. */
int boot_make_initrd(const char *base_initrd, const char *guest_program, const char *out, struct error **err);
/* Kernel command line for a root disk; extra may be NULL. Caller frees. */
char *boot_command_line(const char *extra);

#endif
