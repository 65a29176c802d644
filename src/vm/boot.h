/* boot.h: the initrd of a start: a cpio with hutch-guest and the hook that starts it before anything of the
 * template's, and behind it the base's own initrd. */
#ifndef HUTCH_VM_BOOT_H
#define HUTCH_VM_BOOT_H

#include "base/error.h"

/* Writes `out` = newc cpio with hutch-guest and the hook + base initrd. Ours comes first: behind an lz4
 * archive, as initramfs-tools makes it, the kernel finds nothing more. Atomic; skipped when out is already
 * made of exactly these two files (inode, size, time). ERROR_MISSING names hutch-guest if it was not built.
 */
int boot_make_initrd(const char *base_initrd, const char *guest_program, const char *out, struct error **err);
/* Kernel command line for a root disk; extra may be NULL. Its init= is hutch-guest in /run/hutch/bin, which
 * the initrd puts there: it runs as process 1, leaves its supervisor behind and becomes /sbin/init. Caller
 * frees. */
char *boot_command_line(const char *extra);

#endif
