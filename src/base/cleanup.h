/* cleanup.h: ownership by scope, over the cleanup attribute (the one GNU extension of this tree). */
#ifndef HUTCH_BASE_CLEANUP_H
#define HUTCH_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Frees a malloc'd pointer when the variable leaves its scope. */
#define autofree __attribute__((cleanup(cleanup_free)))
/* Closes a descriptor (if >= 0), keeps errno. */
#define autoclose __attribute__((cleanup(cleanup_close)))
/* Closes a FILE (if not NULL). */
#define autofclose __attribute__((cleanup(cleanup_fclose)))
/* auto(error) struct-pointer variable: AUTO_DEFINE(error, struct error *, error_free) declares its cleaner.
 */
#define auto(name) __attribute__((cleanup(cleanup_##name)))
#define AUTO_DEFINE(name, type, destroy)                                                                     \
    static inline void cleanup_##name(type *p)                                                               \
    {                                                                                                        \
        if (*p)                                                                                              \
            destroy(*p);                                                                                     \
    }                                                                                                        \
    struct cleanup_##name##_semicolon

/* Moves a pointer out of its variable and leaves NULL there: return steal(&p). */
#define steal(pp) ((__typeof__(*(pp)))cleanup_steal_pointer((void *)(pp)))

static inline void *cleanup_steal_pointer(void *pp)
{
    void **slot = pp;
    void *p = *slot;
    *slot = NULL;
    return p;
}

/* Moves a descriptor out of its variable and leaves -1 there. */
static inline int steal_fd(int *fd)
{
    int out = *fd;
    *fd = -1;
    return out;
}

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

void cleanup_close(int *fd);
void cleanup_fclose(FILE **file);

#endif
