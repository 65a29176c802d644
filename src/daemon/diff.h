/* diff.h: two points of a project's disk compared, and files out of an old one, for routes. The reading is
 * hutch-diff's (diff/child.h), on a job's thread; the answer lies in a file without a name until the client
 * has taken it, so that a slow one holds up nothing. A point is "@12", "base" (what the machine was made of)
 * or "now". What is written now can be read while no machine has it open, in the project's lane; of a machine
 * that lives a snapshot is taken first, and read beside it. */
#ifndef HUTCH_DAEMON_DIFF_H
#define HUTCH_DAEMON_DIFF_H

#include "daemon/daemon.h"
#include "diff/ask.h"
#include "wire/h2.h"

struct diff_request {
    const char *id; /* of the project */
    enum diff_mode mode;
    const char *from, *to; /* points; NULL: the snapshot that the present stands on (else base), and now.
                              Where one side is enough, `to` is it */
    const char *path;      /* in the machine, or NULL */
    const char *type;      /* of the answer's content; static */
};
/* Answers the stream, now or later. Copies what it needs. */
void diff_answer(struct daemon *daemon, struct h2_stream *stream, const struct diff_request *request);

#endif
