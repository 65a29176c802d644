/* landlock.h: a process gives up what it will not need: files outside a list (Landlock), new privileges.
 * Inherited over exec, kept for life. Source: Documentation/userspace-api/landlock.rst of Linux; ABI 1 (5.13)
 * and later. */
#ifndef HUTCH_BASE_LANDLOCK_H
#define HUTCH_BASE_LANDLOCK_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum landlock_access {
    LANDLOCK_READ = 1,    /* read files and list folders below the path */
    LANDLOCK_EXECUTE = 2, /* execute files below it */
    LANDLOCK_WRITE = 4,   /* write, create, remove, rename below it */
    LANDLOCK_CHANGE = 8,  /* write files and devices that are there; none is made, removed or renamed */
};
struct landlock_rule {
    const char *path; /* a file or a folder; one that does not exist is left out */
    int access;       /* enum landlock_access */
};

/* The kernel's ABI version, 0 without Landlock. */
int landlock_version(void);
/* Sets no_new_privs and denies all file access but the rules'. From ABI 4 on TCP bind and connect are denied
 * too, from ABI 6 on abstract UNIX sockets and signals to processes outside. ERROR_MISSING without Landlock:
 * the caller then does not go on. */
int landlock_confine(const struct landlock_rule *rules, size_t count, struct error **err);

#endif
