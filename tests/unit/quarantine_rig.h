/* quarantine_rig.h: a folder with a mirror, a machine's repository and work tree, and a quarantine; and the
 * machine's end of a fetch, real git or one that lies, over a socket pair. */
#ifndef HUTCH_TESTS_QUARANTINE_RIG_H
#define HUTCH_TESTS_QUARANTINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "repo/git.h"
#include "repo/quarantine.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct end {
    const char *bare; /* real git upload-pack of this; or … */
    void (*lie)(int fd, void *user);
    void *user;
    pid_t pid;
    pthread_t thread;
    int fd; /* its own */
    unsigned opened;
};

extern char *rig_quarantine, *rig_mirror;
extern char rig_said[65536]; /* all progress of the last fetch */
/* Setup and teardown of a group; fresh: of a test. */
int rig_make(void **state);
int rig_remove(void **state);
int rig_fresh(void **state);
/* Runs a shell line in the folder; the tests' own words only. sh: its first line, the caller's. */
char *rig_sh(const char *line);
void rig_run(const char *line);
struct paths *rig_paths(void);
int rig_fetch_from(struct end *end, const atomic_bool *cancel, struct quarantine_news *news,
                   struct error **err);
/* The same from the machine's repository; it must succeed. */
void rig_fetch(struct quarantine_news *news);
/* The change of a name, or NULL. */
const struct quarantine_change *rig_find(const struct quarantine_news *news, const char *name);
/* All refs of the quarantine, and what fsck says of it; nothing may be left of a transfer. */
char *rig_refs(void);
/* It failed with this code, in safe words, and the quarantine is as it was. */
void rig_refused(int rc, enum error_code code, const struct error *err, const char *refs_before);

#endif
