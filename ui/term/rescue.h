/* rescue.h: a second process that lives until this one has ended, whatever ended it, and then has the last
 * word: what kill -9 and the kernel's lack of memory leave to nobody else. */
#ifndef HUTCH_UI_TERM_RESCUE_H
#define HUTCH_UI_TERM_RESCUE_H

#include <stddef.h>
#include <sys/types.h>

struct rescue {
    pid_t pid; /* 0: there is none */
    int fd;    /* closed by the end of this process */
};

/* Starts it, with no descriptors but `keep`, in a process group of its own, deaf to signals but SIGKILL. When
 * this process has ended, whether in order or not, `last` is called in it; that may do only what a signal's
 * handler may, and sees memory as it is now, but for what is mapped as shared. There is none if no process
 * can be had. */
void rescue_start(struct rescue *rescue, const int *keep, size_t keep_count, void (*last)(void));
/* Ends it; `last` is not called. Nothing to do if there is none. */
void rescue_stop(struct rescue *rescue);

#endif
