/* cp.h: files and folders between this host and a machine, with the meaning of `cp -r`. */
#ifndef HUTCH_CLI_CP_H
#define HUTCH_CLI_CP_H

#include "cli/progress.h"
#include "client/client.h"

#define CP_USER "agent" /* whose home a relative path in the machine begins at */

/* One copy under way. */
struct copy {
    struct client *client;
    const char *project;
    const char *at;   /* "@12": out of a snapshot; NULL: of the machine */
    const char *user; /* who writes in the machine; NULL: its default user */
    struct progress progress;
    size_t skipped; /* left out and told */
};

/* A word of the command line: "[NAME][@SNAP]:PATH" or a path of this host. */
struct place {
    bool remote;
    char *name; /* NULL: this folder's project */
    char *snap; /* "@12", or NULL */
    char *path; /* remote: absolute, without slashes at its end but "/" itself */
    bool slash; /* it was written with a slash at its end: it must be a folder */
};
/* A ":" before any "/" makes it a place in a machine. ERROR_USAGE for an empty path, or one that ends in "."
 * or "..". */
int place_parse(const char *word, const char *user, struct place *ret_place, struct error **err);
void place_finish(struct place *place);
/* The last part of a path, never empty but for "/"; caller frees. And all before it. */
char *place_base(const char *path);
char *place_parent(const char *path);

/* What is at a path of the machine: "regular", "folder", "link", "other", or "" when nothing is there.
 * *ret_stat may be NULL. */
int copy_stat(struct copy *copy, const char *path, char ret_type[16], json_t **ret_stat, struct error **err);
/* A note about something left out; counts it. A tar_note_fn. */
void copy_note(const char *text, void *user);
int copy_in(struct copy *copy, const char *source, const struct place *target, struct error **err);
int copy_out(struct copy *copy, const struct place *source, const char *target, struct error **err);

#endif
