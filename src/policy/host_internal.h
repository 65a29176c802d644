/* host_internal.h: what host.c has of IDNA, all of libidn2 behind it. */
#ifndef HUTCH_POLICY_HOST_INTERNAL_H
#define HUTCH_POLICY_HOST_INTERNAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A UTF-8 name (terminated) in A-labels; the caller frees. ERROR_INVALID says what IDNA2008 has against it.
 */
int host_idn_encode(const char *name, char **ret_ascii, struct error **err);
/* Is an "xn--" label (lower case) what its decoded form encodes to? */
bool host_idn_label_valid(const char *label, size_t len);
/* The decoded form of a label as UTF-8, or NULL if it is none that is valid; the caller frees. */
char *host_idn_decode(const char *label, size_t len);

#endif
