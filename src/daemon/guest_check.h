/* guest_check.h: what a hutch-worker may say. The worker parses a hostile guest and may be in its hands:
 * every message is held against this before anything in it is used. Pure. */
#ifndef HUTCH_DAEMON_GUEST_CHECK_H
#define HUTCH_DAEMON_GUEST_CHECK_H

#include "worker/proto.h"

#include <stdbool.h>
#include <stddef.h>

/* The message has a known type, exactly that type's size, terminated text, and numbers in the range of their
 * enums. */
bool guest_check_message(const void *data, size_t len);
/* The same for the messages of flow_proto.h; guest_check_message covers them too. */
bool guest_check_flow(const void *data, size_t len);
/* The element or result fits what was asked: kind and list as GUEST_OPS says for op. */
bool guest_check_item(const struct wmsg_item *item, enum guest_op op);
/* The operation answers with a list. */
bool guest_op_is_list(enum guest_op op);

#endif
