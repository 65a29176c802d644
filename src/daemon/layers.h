/* layers.h: the files of a project's disk. Each is disk/NUMBER.qcow2 in the folder of the project that wrote
 * it; which stands on which is on record (state_snapshots.h), and in each file's own header. Both must say
 * the same, or nothing is started on them. Any thread. */
#ifndef HUTCH_DAEMON_LAYERS_H
#define HUTCH_DAEMON_LAYERS_H

#include "daemon/daemon.h"

struct work;

/* A layer's file. Caller frees. */
char *layers_file(const struct daemon *daemon, const char *project, int64_t number);
/* The one that the project writes. Caller frees. */
char *layers_disk(const struct daemon *daemon, const struct record *record);
/* The files of a layer from it down to the project's base, top first, NULL-ended (vm_free_chain): as
 * recorded, and checked against what the files themselves say. ERROR_NOT_FOUND: the top is not there;
 * ERROR_CORRUPT: one below is missing, damaged, or stands on another file than it is to. */
int layers_chain(const struct daemon *daemon, const struct record *record, int64_t number, char ***ret_chain,
                 struct error **err);
/* The same of a layer that another project may have written. */
int layers_chain_of(const struct daemon *daemon, const struct record *record, const char *project,
                    int64_t number, char ***ret_chain, struct error **err);
/* How many layers there are from it down, the base included; 0 if that is not known. */
size_t layers_depth(const struct daemon *daemon, const struct record *record, int64_t number);
/* Removes the files of the project's layers that were given up: their number was given, and is on record no
 * more. Errors are logged. */
void layers_sweep(struct work *work);

#endif
