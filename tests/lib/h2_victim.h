/* h2_victim.h: one HTTP/2 session that gets hand-made frames, and a reader of its answers. For tests (after
 * cmocka.h). */
#ifndef HUTCH_TESTS_H2_VICTIM_H
#define HUTCH_TESTS_H2_VICTIM_H

#include "base/buf.h"
#include "frames.h"
#include "wire/h2.h"

/* Heads for frames_request. */
#define CONNECT_HEAD(authority) ":method", "CONNECT", ":authority", (authority)
#define GET_HEAD                ":method", "GET", ":scheme", "http", ":path", "/", ":authority", "h"

struct victim {
    struct h2_session *session;
    struct buf in;     /* what the attacker is about to send */
    struct buf out;    /* what the session sent */
    unsigned requests; /* shown to the owner */
    unsigned open, closed;
    unsigned data_bytes;
    bool ignore;    /* answers nothing, gives nothing back */
    bool tunnels;   /* answers 200 and keeps the stream open */
    uint64_t clock; /* ms */
};

/* What the streams of the session do; user is the victim. */
extern const struct h2_stream_ops victim_stream_ops;

/* Set-up and tear-down of a cmocka test: a server session that shows its requests. */
int victim_set_up(void **state);
int victim_tear_down(void **state);
/* A new session in place of the old; what opens a connection (preface, SETTINGS) is prepared. */
void victim_make(struct victim *v, enum h2_role role, struct h2_options options);
/* Sends what was prepared in v->in. read: the answers are collected in v->out. */
int victim_attack(struct victim *v, bool read);
/* Acknowledges SETTINGS, as a peer does that means to stay. */
void victim_acknowledge(struct victim *v);
/* Looks for a frame in the collected answers. */
bool victim_answered(const struct victim *v, uint8_t type, uint32_t stream, struct frame *ret_frame);
/* The session is over, has said so (with this code, 0: any) and looks at nothing more. */
void assert_goaway(struct victim *v, uint32_t code);
/* A RST_STREAM of this stream is among the answers, and the session lives. */
void assert_rst(struct victim *v, uint32_t stream);

#endif
