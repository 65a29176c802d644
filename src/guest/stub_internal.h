/* stub_internal.h: the stub's names (stub_names.c) and its sockets (stub.c). */
#ifndef HUTCH_GUEST_STUB_INTERNAL_H
#define HUTCH_GUEST_STUB_INTERNAL_H

#include "guard/names.h"
#include "guest/stub.h"

/* Names with their file. */
struct stub_names {
    struct names names;
    char *path;
    int fd; /* -1: cannot be kept */
};

void stub_names_init(struct stub_names *names, const char *run);
void stub_names_finish(struct stub_names *names);
/* The address of a canonical name, written down when it is new. */
int stub_names_address(struct stub_names *names, const char *name, uint32_t *ret_address, struct error **err);

#endif
