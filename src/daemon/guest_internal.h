/* guest_internal.h: between guest.c and guest_pool.c. */
#ifndef HUTCH_DAEMON_GUEST_INTERNAL_H
#define HUTCH_DAEMON_GUEST_INTERNAL_H

#include "daemon/guest.h"

enum guest_link { GUEST_LINK_DOWN, GUEST_LINK_UP, GUEST_LINK_OFF /* the worker stays off */ };

enum guest_link guest_link(const struct guest *guest);
/* The pool that wants to know of changes (guest_pool_note) and of the end (guest_pool_forget), or NULL. */
void guest_set_pool(struct guest *guest, struct guest_pool *pool);

void guest_pool_note(struct guest_pool *pool, struct guest *guest, enum guest_link link);
void guest_pool_forget(struct guest_pool *pool, struct guest *guest);

#endif
