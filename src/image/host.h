/* host.h: what the host must have to build images: programs, and a place where root's files can be made. */
#ifndef HUTCH_IMAGE_HOST_H
#define HUTCH_IMAGE_HOST_H

#include "base/error.h"

#define HOST_PREFIX_MAX 16

/* Full paths of the programs of a build, and the words before a command:
 * prefix: the child ends with the thread that started it. confined: root in namespaces of its own; for an
 * ordinary user its uid 0 is himself and the others come from /etc/subuid, so that a tree of root's files can
 * be made, read and removed. Both NULL-ended. */
struct host {
    char *mmdebstrap, *mke2fs, *qemu_img, *setpriv, *unshare, *rm;
    const char *prefix[HOST_PREFIX_MAX];
    const char *confined[HOST_PREFIX_MAX];
};

/* Finds the programs in PATH and the sbin folders; ERROR_MISSING names the first that is not there and its
 * package. */
int host_init(struct host *host, struct error **err);
/* Are such namespaces to be had? Tries it; ERROR_MISSING says what is off and how to turn it on. */
int host_check(const struct host *host, struct error **err);
void host_finish(struct host *host);
/* The full path of a program, or NULL. Caller frees. */
char *host_program(const char *name);

#endif
