/* host.h: what this machine offers: KVM, processors, memory, and the defaults of a project that follow from
 * them. */
#ifndef HUTCH_DAEMON_HOST_H
#define HUTCH_DAEMON_HOST_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether /dev/kvm opens; why not goes into `reason` (may be NULL). */
bool host_kvm(char *reason, size_t size);
/* MemTotal and MemAvailable in bytes. */
int host_memory(uint64_t *ret_total, uint64_t *ret_available, struct error **err);
unsigned host_cpus(void);
/* Defaults: min(4, cores); a quarter of the memory between 2 and 8 GiB; 64 GiB. */
unsigned host_default_cpus(void);
uint64_t host_default_memory(void);
#define HOST_DEFAULT_DISK (64ULL << 30)
/* ERROR_NO_MEMORY with the numbers when a machine of this size does not fit in what is free now. */
int host_check_memory(const char *name, uint64_t memory, struct error **err);
/* The host as `status` shows it. New reference. */
json_t *host_json(void);

#endif
