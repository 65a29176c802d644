/* h2_pair.h: two HTTP/2 sessions back to back in memory, and a recorder of what a stream told. For tests. */
#ifndef HUTCH_TESTS_H2_PAIR_H
#define HUTCH_TESTS_H2_PAIR_H

#include "base/buf.h"
#include "wire/h2.h"

struct h2_pair {
    struct h2_session *client, *server;
};

/* Moves bytes both ways until neither side has more. Sessions that are over are left alone. */
void h2_pair_run(struct h2_pair *pair);
/* Moves what one side has; returns the number of bytes. keep: also appended there (may be NULL). */
size_t h2_pair_move(struct h2_session *from, struct h2_session *to, struct buf *keep);
/* Takes everything that the session wants to send. */
void h2_pair_take(struct h2_session *session, struct buf *out);
void h2_pair_destroy(struct h2_pair *pair);

/* Everything that a stream told. keep_window: data is recorded but not given back. */
struct h2_record {
    struct h2_stream *stream; /* NULL after on_close */
    int status;
    bool head_end;
    struct buf data;
    unsigned ends, closes, writables;
    uint32_t code;
    bool keep_window;
};
extern const struct h2_stream_ops h2_record_ops;
void h2_record_init(struct h2_record *record);
void h2_record_finish(struct h2_record *record);

#endif
