/* console.h: the serial log of a machine as a stream, with what comes while it is followed. */
#ifndef HUTCH_DAEMON_CONSOLE_H
#define HUTCH_DAEMON_CONSOLE_H

#include "daemon/daemon.h"
#include "wire/h2.h"

/* Answers the stream with the log's bytes as they are (untrusted). follow: it goes on until the client
 * leaves; a log that was begun anew is followed. */
void console_stream(struct daemon *daemon, struct h2_stream *stream, const char *id, bool follow);

#endif
