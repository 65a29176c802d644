/* way_rig.h: the whole way out without a machine: a guest (flow_guest.h, or a real hutch-guest), a real
 * hutch-worker process, hutchd's flows with their rules, budgets and rows, real dials, servers on loopback.
 * Three things alone are not as in hutchd: names come from a table, the public address of a server leads to
 * loopback, rows go into an array. */
#ifndef HUTCH_TESTS_WAY_RIG_H
#define HUTCH_TESTS_WAY_RIG_H

#include "flow_guest.h"

#include "daemon/guest.h"
#include "egress/flow.h"

#include <pthread.h>
#include <stdatomic.h>

#define WAY_SERVERS  8
#define WAY_MACHINES 2
#define WAY_ROWS     32768

/* A server with a name and a public address; a thread a connection. */
struct way_server {
    const char *name, *address;
    void (*serve)(struct way_server *server, int fd); /* blocking; 20 s at most a call */
    int fd;
    uint16_t port;
    pthread_t thread;
    atomic_uint accepted, open;
    _Atomic uint64_t received, sent; /* counted by serve */
    _Atomic uint64_t mark;           /* for what serve wants to say or hear */
};
struct way_row {
    enum flow_row row;
    uint64_t flow, count, up, down;
    enum reason reason;
    char authority[64], end[16], end_reason[48];
};
struct way_machine {
    struct way_rig *rig;
    const char *project;
    char *egress; /* path of its port */
    int listener; /* -1: somebody else listens there */
    struct guest *guest;
    struct flow_guest side;
    struct flows *flows;
    struct policy *policy;
    uint64_t generation;
    bool nobody; /* can be asked */
    unsigned asks;
    uint64_t asked_flow;
    unsigned lookups, dials, alerts, findings;
    char last_alert[512];
    struct way_row *rows;
    size_t row_count;
    uint8_t keys[PORT_COUNT][WMSG_KEY_SIZE];
    bool have_key[PORT_COUNT];
};
struct way_rig {
    uv_loop_t loop;
    uv_timer_t tick;
    char folder[64];
    char *worker;
    struct way_server servers[WAY_SERVERS];
    size_t server_count;
    struct way_machine machines[WAY_MACHINES];
    size_t machine_count;
    struct way_errand *errands;
    int64_t skip_ms; /* added to the flows' clock */
};

#define way_until(rig, condition, ms) loop_until(&(rig)->loop, condition, ms)
#define WAY_RULES(...)                ((const char *const[]){__VA_ARGS__, NULL})

void way_start(struct way_rig *rig);
/* Ends the workers, closes everything; fails the test if something stays in the loop. */
void way_stop(struct way_rig *rig);
struct way_server *way_serve_at(struct way_rig *rig, const char *name, const char *address,
                                void (*serve)(struct way_server *server, int fd));
/* A machine and its worker. control: socket of its control port or NULL (nobody there); egress: NULL: the rig
 * listens, see way_step_in. */
struct way_machine *way_machine(struct way_rig *rig, const char *project, enum policy_mode mode,
                                const char *const *rules, const char *control, const char *egress);
void way_policy(struct way_machine *machine, enum policy_mode mode, const char *const *rules);
/* Waits for the next connection of the worker to the egress port and answers its hello. The second leaves
 * HTTP/2 to the caller: side.fd. */
void way_step_in(struct way_machine *machine);
void way_step_in_raw(struct way_machine *machine);
/* A CONNECT that is answered 200 (waits). */
void way_open(struct way_machine *machine, struct rig_stream *s, const char *authority);
/* The row of that kind about an authority that came last, or NULL. */
const struct way_row *way_row(const struct way_machine *machine, enum flow_row row, const char *authority);
size_t way_rows(const struct way_machine *machine, enum flow_row row);
size_t way_flows(const struct way_machine *machine);
/* A ClientHello for that name, one record. */
void way_hello(struct buf *out, const char *host);
/* Runs a program to its end (60 s) while the loop turns; returns its status and its output. Caller frees. */
int way_run(struct way_rig *rig, const char *const *argv, char **ret_output);
/* Open descriptors; KiB of a line of /proc/PID/status; clock ticks of CPU. */
size_t way_descriptors(pid_t pid);
uint64_t way_memory_kib(pid_t pid, const char *key);
double way_cpu_s(pid_t pid);

/* ---- what servers do ---- */
void serve_echo(struct way_server *server, int fd);
/* Takes everything, answers nothing. */
void serve_sink(struct way_server *server, int fd);
/* Writes server->mark bytes and ends. */
void serve_flood(struct way_server *server, int fd);

#endif
