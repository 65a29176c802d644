/* progress.h: what mmdebstrap and apt write, as phases and numbers. Pure: a line in, a step out. */
#ifndef HUTCH_IMAGE_PROGRESS_H
#define HUTCH_IMAGE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_TEXT_MAX 128

struct progress {
    const char *phase; /* "prepare", "core-download", "core-install", "download", "install", "setup" */
    char text[PROGRESS_TEXT_MAX]; /* a package, a step; printable ASCII */
    uint64_t done, total;         /* download: bytes; install: packages; total 0: unknown */
    uint64_t downloaded, to_download, packages, unpacked, set_up;
    bool core; /* the round of the system's core, before that of the template's packages */
};

/* Takes a line of the builder's output in the C locale; true if the step changed. */
bool progress_line(struct progress *progress, const char *line);

enum progress_failure { PROGRESS_OTHER, PROGRESS_NETWORK, PROGRESS_NO_SPACE, PROGRESS_KEY, PROGRESS_PACKAGE };
/* What a line of a failed build says about the reason; PROGRESS_OTHER: nothing. */
enum progress_failure progress_failure(const char *line);

#endif
