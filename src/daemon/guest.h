/* guest.h: hutchd's side of one running VM: its hutch-worker process (started by posix_spawn, restarted with
 * back-off after a crash), the connections to the three port sockets, and calls to the guest. All functions
 * run on the loop thread except guest_call_wait. hutchd passes bytes of streams on and reads only the fixed
 * structs of worker/proto.h. */
#ifndef HUTCH_DAEMON_GUEST_H
#define HUTCH_DAEMON_GUEST_H

#include "base/error.h"
#include "worker/proto.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct guest;

struct guest_options {
    uv_loop_t *loop;
    const char *worker_program;    /* full path of hutch-worker */
    const char *project;           /* project id; copied */
    const char *ports[PORT_COUNT]; /* socket paths; copied */
    /* The recorded next key of a port for this boot: load returns false if there is none; save is durable
     * before it returns. */
    bool (*load_key)(const char *project, uint32_t port, uint8_t key[32], void *user);
    int (*save_key)(const char *project, uint32_t port, const uint8_t key[32], void *user,
                    struct error **err);
    /* control came into step (up) or was lost */
    void (*on_state)(struct guest *guest, bool up, void *user);
    void (*on_alert)(struct guest *guest, const char *text, void *user);
    /* Egress: a checked message of worker/flow_proto.h; its first field says which. false: it has no place, and
     * the worker is ended. NULL: the worker may send none. */
    bool (*on_flow)(struct guest *guest, const void *message, void *user);
    /* The worker is gone, and all flows with it. */
    void (*on_flows_lost)(struct guest *guest, void *user);
    void *user;
    unsigned crashes_max; /* ends of the worker within a minute after which it stays off; 0: 5 */
};
int guest_create(const struct guest_options *options, struct guest **ret_guest, struct error **err);
/* Ends the worker (closes the pair, kills after 1 s), fails all calls with ERROR_GUEST, frees later. */
void guest_destroy(struct guest *guest);
/* running false: the VM is paused, frozen or not started. */
void guest_set_running(struct guest *guest, bool running);
/* Starts a worker again that stays off after too many crashes; else nothing. */
void guest_revive(struct guest *guest);
bool guest_up(const struct guest *guest);
pid_t guest_worker_pid(const struct guest *guest);

/* Sends a message of worker/flow_proto.h, with a descriptor (closed here) or -1. Dropped when there is no
 * worker: its flows have ended then. */
void guest_flow_send(struct guest *guest, const void *message, size_t len, int fd);

/* A call. path and body are copied. stream: -1, or one end of a SOCK_STREAM pair that goes to the worker
 * (owned by the call, also when it fails). Of the other end: shutdown(SHUT_WR) is the end of the body, and it
 * stays open until on_result; closing it earlier cuts the stream. To break off: guest_cancel, then close
 * after on_result. */
struct guest_call {
    enum guest_op op;
    enum guest_port port;
    uint32_t flags; /* enum wmsg_call_flags */
    const char *path;
    const char *body; /* JSON or NULL */
    int stream;
};
struct guest_call_ops {
    void (*on_item)(const struct wmsg_item *item, void *user); /* of a list */
    void (*on_head)(const struct wmsg_head *head, void *user); /* streaming call accepted */
    /* Once. item is NULL when err is set (guest's own errors included). For streams: all bytes have been
     * passed on. */
    void (*on_result)(const struct wmsg_item *item, const struct error *err, void *user);
};
/* Returns an id, or 0 with err: ERROR_GUEST when control is not in step (the message says since when),
 * ERROR_LIMIT. ops and user live until on_result. */
uint32_t guest_call(struct guest *guest, const struct guest_call *call, const struct guest_call_ops *ops,
                    void *user, struct error **err);
void guest_cancel(struct guest *guest, uint32_t id);

/* ---- from job threads ---- */
/* A registry from project id to guest, with the uv_async that carries calls to the loop. One a daemon. */
struct guest_pool;
struct guest_pool *guest_pool_create(uv_loop_t *loop);
/* Fails every waiting call, waits until the waiting threads have left, frees later. No thread may begin a
 * call any more. */
void guest_pool_destroy(struct guest_pool *pool);
void guest_pool_put(struct guest_pool *pool, const char *project, struct guest *guest); /* NULL: remove */
struct guest *guest_pool_get(struct guest_pool *pool, const char *project);             /* loop thread */
/* Makes the call on the loop and waits for its result. ERROR_TIMED_OUT, ERROR_CANCELLED (cancel is polled
 * every 100 ms; may be NULL), ERROR_GUEST. timeout_ms 0: no limit. ret_item may be NULL. The call's stream is
 * owned as by guest_call. No list operations. */
int guest_call_wait(struct guest_pool *pool, const char *project, const struct guest_call *call,
                    unsigned timeout_ms, const atomic_bool *cancel, struct wmsg_item *ret_item,
                    struct error **err);
/* Waits until control is in step. A project without a guest is waited for too; one whose guest goes away
 * meanwhile, or whose worker stays off, is ERROR_GUEST. */
int guest_wait_up(struct guest_pool *pool, const char *project, unsigned timeout_ms,
                  const atomic_bool *cancel, struct error **err);

#endif
