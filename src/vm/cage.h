/* cage.h: what one QEMU may open, as a list and as the text that travels in the domain's definition to
 * hutch-qemu, the emulator wrapper (confine_qemu.c), in the variable HUTCH_CONFINE. */
#ifndef HUTCH_VM_CAGE_H
#define HUTCH_VM_CAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CAGE_VARIABLE  "HUTCH_CONFINE"
#define CAGE_PATHS_MAX 96

enum cage_access {
    CAGE_READ = 'r',  /* one file, reading */
    CAGE_WRITE = 'w', /* one file, reading and writing */
    CAGE_FOLDER =
        'd', /* the files of a folder, reading and writing; none can be made, removed, renamed or linked */
};
struct cage {
    struct {
        enum cage_access access;
        char *path;
    } items[CAGE_PATHS_MAX];
    size_t count;
};

/* Adds one full path; more than CAGE_PATHS_MAX or a path that is not absolute is ERROR_INVALID. */
int cage_add(struct cage *cage, enum cage_access access, const char *path, struct error **err);
void cage_finish(struct cage *cage);
/* "r=/a;w=/b": bytes that would be taken for something else are %XX. Caller frees. */
char *cage_format(const struct cage *cage);
/* The reverse; ERROR_INVALID for anything that cage_format does not write. *ret_cage is empty on failure. */
int cage_parse(const char *text, struct cage *ret_cage, struct error **err);

#endif
