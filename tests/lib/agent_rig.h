/* agent_rig.h: a real `hutch-guest serve --ports` for a test, spoken to over its UNIX sockets as the host
 * does. */
#ifndef HUTCH_TESTS_AGENT_RIG_H
#define HUTCH_TESTS_AGENT_RIG_H

#include "base/buf.h"
#include "wire/hello.h"
#include "wire/json.h"
#include "wire/link.h"

enum rig_port { RIG_CONTROL, RIG_BULK, RIG_PORTS };

struct rig {
    char folder[64]; /* --ports */
    uv_loop_t loop;
    pid_t serve;
    bool net; /* with a way out */
    struct link *link[RIG_PORTS];
    uint8_t key[RIG_PORTS][HELLO_KEY_SIZE]; /* next key of the last session */
    bool has_key[RIG_PORTS];
};

/* A folder of its own, the agent started and both ports in step. */
void rig_start(struct rig *rig);
/* The same with a way out, on which no host is. */
void rig_start_net(struct rig *rig);
/* Ends the agent, removes the folder. Sessions that a test left are deleted first. */
void rig_stop(struct rig *rig);
/* kill -9 of the agent, then a new one (the links are connected anew). */
void rig_restart_agent(struct rig *rig);
/* Runs the loop until *flag; fails the test after 150 s. */
void rig_until(struct rig *rig, const bool *flag);

/* One JSON call on control. Returns the status; *ret (may be NULL) is the body, which the caller
 * json_decrefs. */
int rig_call(struct rig *rig, const char *method, const char *path, json_t *body /* taken */, json_t **ret);
/* The code of an error answer ("not-found"), or "" for another. */
const char *rig_error_code(const json_t *body);
/* Starts a session; the id goes to ret_id. Extra members of the body in `more` (taken, may be NULL). */
void rig_exec(struct rig *rig, char ret_id[40], json_t *more, const char *arg, ...) __attribute__((sentinel));
/* Waits for its end: the session object. */
json_t *rig_wait_session(struct rig *rig, const char *id);

/* ---- streams on bulk ---- */
struct rig_stream {
    struct rig *rig;
    struct h2_stream *stream; /* NULL: closed */
    int status;
    int64_t offset; /* hutch-offset, -1 */
    bool headed, ended, closed;
    uint32_t code;
    struct buf in;          /* what came, unless check is set */
    bool paused;            /* takes no bytes: they wait */
    bool check;             /* what comes is compared with the pattern instead of kept */
    uint64_t received;      /* bytes */
    bool wrong;             /* check failed */
    uint64_t to_send, sent; /* pattern bytes of the body */
    size_t unconsumed;
};
/* Opens a request; body: rig_stream_write or to_send will follow. */
void rig_open(struct rig *rig, struct rig_stream *s, const char *method, const char *path, bool body);
void rig_stream_write(struct rig_stream *s, const void *data, size_t len);
/* Sends `total` pattern bytes as the window opens, then ends the body. */
void rig_stream_send_pattern(struct rig_stream *s, uint64_t total);
void rig_stream_end(struct rig_stream *s);
void rig_stream_resume(struct rig_stream *s);
/* Runs until the stream is closed. */
void rig_stream_finish(struct rig_stream *s);
/* Runs until at least n bytes are there. */
void rig_stream_until(struct rig_stream *s, uint64_t n);
/* The bytes as a string (valid until the next change). */
const char *rig_stream_text(struct rig_stream *s);
void rig_stream_free(struct rig_stream *s);
/* The byte of the pattern at an offset. */
uint8_t rig_pattern(uint64_t offset);

/* A whole GET; the body as a string that the caller frees. The stream must have ended in order. */
char *rig_get(struct rig *rig, const char *path);
/* A whole PUT or POST of a string; returns the status, *ret as for rig_call. */
int rig_send(struct rig *rig, const char *method, const char *path, const char *text, size_t len,
             json_t **ret);

#endif
