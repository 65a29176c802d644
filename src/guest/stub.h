/* stub.h: the machine's name server. It asks nobody: every valid name gets an address of 198.18.0.0/15, the
 * same for the whole boot, and what then connects there is known by its name. The names are kept in RUN/names
 * (root's alone), so that an address means the same after hutch-guest was started anew. */
#ifndef HUTCH_GUEST_STUB_H
#define HUTCH_GUEST_STUB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#define STUB_TTL     300 /* seconds; the address stays for longer */
#define STUB_TCP_MAX 64  /* TCP connections at once */
#define STUB_TCP_MS  10000
#define STUB_SOCKETS 8  /* that it can listen on */
#define STUB_BURST   64 /* datagrams of one turn of the loop */

struct stub;

/* Reads RUN/names. A file that is broken is begun anew, with a warning. */
struct stub *stub_create(uv_loop_t *loop, const char *run);
void stub_destroy(struct stub *stub);
/* Answers on a UDP socket, or on a TCP listener; both non-blocking and taken. */
void stub_serve(struct stub *stub, int fd, bool tcp);
/* The name of an address (host order) that was given, valid until the next call in the loop; or NULL. */
const char *stub_name(const struct stub *stub, uint32_t address);
size_t stub_count(const struct stub *stub);
/* Makes the form in which names are kept of what a program asked for: lower case, no dot at the end. False
 * for what no host can be called: a label that is empty, over 63 bytes, begins or ends with a dash, or has
 * other bytes than letters, digits, - and _; or a last label of digits alone. out: at least len + 1 bytes. */
bool stub_canonical(const char *name, size_t len, char *out);

#endif
