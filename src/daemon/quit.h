/* quit.h: how hutchd ends: VMs and sessions go on, or are saved first. Loop thread. */
#ifndef HUTCH_DAEMON_QUIT_H
#define HUTCH_DAEMON_QUIT_H

#include "daemon/daemon.h"
#include "wire/h2.h"

/* save: every machine that runs is suspended, all beside each other, at most 90 s each; one that cannot be
 * saved is stopped. Then the stream (may be NULL) is answered and the loop ends. Jobs that still run are cut:
 * every step of theirs is on record. */
void quit_begin(struct daemon *daemon, bool save, struct h2_stream *stream);

#endif
