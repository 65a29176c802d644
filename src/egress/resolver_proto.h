/* resolver_proto.h: what the resolver and its children (hutch-resolver) say to each other: one fixed struct
 * each way over a SOCK_SEQPACKET pair, one question at a time a child. */
#ifndef HUTCH_EGRESS_RESOLVER_PROTO_H
#define HUTCH_EGRESS_RESOLVER_PROTO_H

#include "policy/address.h"

#include <stdint.h>

#define RESOLVER_FD            3 /* the child's end */
#define RESOLVER_ADDRESSES_MAX 16
#define RESOLVER_NAME_MAX      256

struct resolver_question {
    uint64_t id;
    char name[RESOLVER_NAME_MAX]; /* canonical, terminated */
};
struct resolver_reply {
    uint64_t id;
    int32_t rc;     /* getaddrinfo's, 0: resolved */
    uint32_t count; /* of addresses; 0 with rc 0: none of a known family */
    struct address addresses[RESOLVER_ADDRESSES_MAX];
};

#endif
