/* block_chain.h: the chain of files that QEMU says it has open, out of its answer to query-block. */
#ifndef HUTCH_VM_BLOCK_CHAIN_H
#define HUTCH_VM_BLOCK_CHAIN_H

#include "base/error.h"

/* answer: the whole reply {"return":[…]}. The one disk's files, top first, NULL-ended (vm_free_chain).
 * ERROR_CORRUPT: not exactly one disk, a format other than qcow2, no plain file; ERROR_HYPERVISOR: no such
 * answer. */
int block_chain_read(const char *answer, char ***ret_chain, struct error **err);

#endif
