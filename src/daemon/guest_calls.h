/* guest_calls.h: the calls of one guest that are on their way: from their number to who waits for them. What
 * the worker says about them is taken only where it fits what was asked. Part of guest.c. */
#ifndef HUTCH_DAEMON_GUEST_CALLS_H
#define HUTCH_DAEMON_GUEST_CALLS_H

#include "daemon/guest.h"

#include <sys/queue.h>

struct running_call;
TAILQ_HEAD(running_call_list, running_call);

struct guest_calls {
    struct running_call_list list;
    unsigned count;
    uint32_t last_id;
};

void guest_calls_init(struct guest_calls *calls);
/* A new entry; returns its id, which is not 0 and no other's. */
uint32_t guest_calls_add(struct guest_calls *calls, const struct guest_call *call,
                         const struct guest_call_ops *ops, void *user);
bool guest_calls_has(const struct guest_calls *calls, uint32_t id);
/* WMSG_ITEM and WMSG_RESULT, WMSG_HEAD, already checked by guest_check_message: tells the owner. false: the
 * message has no place (no such call, another kind, a second head, too many elements). The owner may destroy
 * the guest meanwhile. */
bool guest_calls_take(struct guest_calls *calls, const struct wmsg_item *item);
bool guest_calls_take_head(struct guest_calls *calls, const struct wmsg_head *head);
/* Ends every call with ERROR_GUEST. An owner may begin a further call meanwhile if guest_call refuses it at
 * once. */
void guest_calls_fail(struct guest_calls *calls, const char *why);

#endif
