/* paths.h: where things are (design: "Files and places"). HUTCH_HOME=DIR puts config, data, state, cache and
 * run under one folder. As root without HUTCH_HOME data, state and cache live under /var/lib/hutch, run in
 * /run/hutch (images must be reachable by libvirt's own user, so never under /root); configuration then in
 * /etc/hutch. */
#ifndef HUTCH_BASE_PATHS_H
#define HUTCH_BASE_PATHS_H

#include "base/error.h"

struct paths {
    char *config;    /* $XDG_CONFIG_HOME/hutch */
    char *data;      /* $XDG_DATA_HOME/hutch: bases/, projects/ID/ */
    char *state;     /* $XDG_STATE_HOME/hutch: state.db, journal.db, hutchd.log */
    char *cache;     /* $XDG_CACHE_HOME/hutch: mirrors/, downloads/ */
    char *run;       /* $XDG_RUNTIME_DIR/hutch (mode 0700) */
    char *socket;    /* run/hutchd.sock */
    char *lock;      /* run/hutchd.lock */
    char *programs;  /* folder of the helpers: that of the running program if hutchd is beside it, else
                        libexecdir */
    char *templates; /* templates beside the programs (build tree), else $(pkgdatadir)/templates */
};

/* Computes the paths from the environment and /proc/self/exe; creates nothing. ERROR_INVALID names a variable
 * that is not an absolute path; a missing XDG_RUNTIME_DIR falls back to /run/user/UID if it is ours, else to
 * $HOME/.cache/hutch/run (0700). Caller calls paths_free. */
int paths_find(struct paths **ret_paths, struct error **err);
/* Creates the folders (config, data, state, cache, run), 0700 (data 0711 as root, so that QEMU's user gets
 * through). */
int paths_create(const struct paths *paths, struct error **err);
void paths_free(struct paths *paths);
AUTO_DEFINE(paths, struct paths *, paths_free);
/* Full path of a helper program ("hutchd", "hutch-worker", …): programs/NAME, else bindir of the running
 * program. ERROR_MISSING with its name if it is not executable. Caller frees. */
int paths_program(const struct paths *paths, const char *name, char **ret_path, struct error **err);

#endif
