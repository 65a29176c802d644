/* worker.h: a hutch-worker: its link to hutchd, its three ports, its calls. One loop, one thread; the process
 * that runs it ends when hutchd's end of the channel closes. */
#ifndef HUTCH_WORKER_WORKER_H
#define HUTCH_WORKER_WORKER_H

#include "worker/channel.h"
#include "worker/proto.h"

#include <sys/queue.h>
#include <uv.h>

struct port;
struct call;
struct flow;
TAILQ_HEAD(flow_list, flow);
TAILQ_HEAD(call_list, call);

struct worker {
    uv_loop_t *loop;
    struct channel *channel; /* to hutchd */
    struct port *ports[PORT_COUNT];
    struct call_list calls;
    unsigned call_count;
    uv_timer_t wait_timer;  /* runs while calls wait for their port */
    struct flow_list flows; /* egress */
    uint64_t flow_last;     /* number of the newest */
    uv_timer_t flow_timer;  /* runs while there are flows */
    uint64_t flow_clock, flow_tick,
        flow_stat; /* ms: that the machine ran; of the last tick; of the last stat */
    bool set_up;   /* WMSG_SETUP came */
    bool running;  /* WMSG_RUNNING */
    /* hutchd closed the channel or broke the protocol: the worker is of no use any more. code: exit status.
     */
    void (*on_end)(struct worker *worker, int code);
};

/* Begins on hutchd's SOCK_SEQPACKET descriptor (taken over). */
int worker_init(struct worker *worker, uv_loop_t *loop, int fd,
                void (*on_end)(struct worker *worker, int code), struct error **err);
/* Tells hutchd that a limit was broken; the text may hold what the guest wrote. */
void worker_alert(struct worker *worker, enum guest_port port, const char *text);

#endif
