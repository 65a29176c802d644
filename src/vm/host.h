/* host.h: what this host offers a machine, read without libvirt. */
#ifndef HUTCH_VM_HOST_H
#define HUTCH_VM_HOST_H

#include "base/error.h"
#include "vm/vm.h"

#include <stdbool.h>
#include <stddef.h>

/* Where QEMU is on Debian and Arch; Fedora's other name is known to hutch-qemu. A build may name another. */
#ifndef HUTCH_QEMU
#define HUTCH_QEMU "/usr/bin/qemu-system-x86_64"
#endif

/* Whether /dev/kvm opens and answers; otherwise the reason and what to do about it in `reason`. */
bool host_has_kvm(char *reason, size_t size);
/* Fills cpus, memory_total, memory_free, kvm and kvm_reason of *ret_info; leaves the rest. */
int host_read(struct vm_host_info *ret_info, struct error **err);

#endif
