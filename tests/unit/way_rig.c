#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "way_rig.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER_LIMIT_S 20

/* A dial of a flow. */
struct way_errand {
    struct way_errand *next;
    struct way_machine *machine;
    uint64_t flow;
    struct dial *dial;
};

/* ---- servers ---- */

struct connection {
    struct way_server *server;
    int fd;
};

static void *run_connection(void *arg)
{
    struct connection connection = *(struct connection *)arg;

    free(arg);
    connection.server->serve(connection.server, connection.fd);
    close(connection.fd);
    connection.server->open--;
    return NULL;
}

static void *run_server(void *arg)
{
    struct way_server *server = arg;
    struct timeval limit = {.tv_sec = SERVER_LIMIT_S};
    int fd;

    while ((fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = xnew(struct connection);
        pthread_t thread;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        *connection = (struct connection){server, fd};
        server->open++;
        server->accepted++;
        require(pthread_create(&thread, NULL, run_connection, connection) == 0);
        pthread_detach(thread);
    }
    return NULL;
}

struct way_server *way_serve_at(struct way_rig *rig, const char *name, const char *address,
                                void (*serve)(struct way_server *server, int fd))
{
    struct way_server *server = &rig->servers[rig->server_count++];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    assert_true(rig->server_count <= WAY_SERVERS);
    server->name = name;
    server->address = address;
    server->serve = serve;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(server->fd, 512), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&at, &len), 0);
    server->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, run_server, server), 0);
    return server;
}

static void write_all(struct way_server *server, int fd, const uint8_t *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = send(fd, data + at, len - at, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        at += (size_t)n;
        server->sent += (uint64_t)n;
    }
}

void serve_echo(struct way_server *server, int fd)
{
    uint8_t block[16384];
    ssize_t n;

    while ((n = recv(fd, block, sizeof(block), 0)) > 0) {
        server->received += (uint64_t)n;
        write_all(server, fd, block, (size_t)n);
    }
}

void serve_sink(struct way_server *server, int fd)
{
    uint8_t block[65536];
    ssize_t n;

    while ((n = recv(fd, block, sizeof(block), 0)) > 0)
        server->received += (uint64_t)n;
}

void serve_flood(struct way_server *server, int fd)
{
    static const uint8_t block[65536];
    uint64_t left = server->mark;

    while (left) {
        ssize_t n = send(fd, block, left < sizeof(block) ? left : sizeof(block), MSG_NOSIGNAL);
        if (n <= 0)
            return;
        left -= (uint64_t)n;
        server->sent += (uint64_t)n;
    }
}

/* ---- what flows want done ---- */

static struct flows *now(struct way_machine *machine)
{
    flows_set_time(machine->flows, units_monotonic_ns() / 1000000 + machine->rig->skip_ms,
                   (units_now_ns() / 1000000 + machine->rig->skip_ms) / 1000);
    return machine->flows;
}

static void do_send(const void *message, size_t len, int fd, void *user)
{
    guest_flow_send(((struct way_machine *)user)->guest, message, len, fd);
}

static void do_resolve(uint64_t flow, const char *name, void *user)
{
    struct way_machine *machine = user;
    struct resolver_answer answer = {.failure = "no-such-name"};
    struct address address;

    machine->lookups++;
    for (size_t i = 0; i < machine->rig->server_count; i++) {
        const struct way_server *server = &machine->rig->servers[i];
        if (strcmp(server->name, name))
            continue;
        assert_int_equal(address_parse(server->address, strlen(server->address), &address, NULL), 0);
        answer = (struct resolver_answer){.addresses = &address, .count = 1};
    }
    flows_resolved(machine->flows, flow, &answer);
}

static void end_errand(struct way_errand *errand)
{
    struct way_errand **at = &errand->machine->rig->errands;

    while (*at != errand)
        at = &(*at)->next;
    *at = errand->next;
    free(errand);
}

static void on_dialed(const struct dial_result *result, void *user)
{
    struct way_errand *errand = user;
    struct way_machine *machine = errand->machine;
    uint64_t flow = errand->flow;

    end_errand(errand);
    flows_dialed(now(machine), flow, result);
}

static void do_dial(uint64_t flow, const struct dial_target *target, void *user)
{
    struct way_machine *machine = user;
    struct dial_target there = {.to = "127.0.0.1:1"};
    char text[ADDRESS_FORMAT_MAX];

    machine->dials++;
    address_format(&target->addresses[0], text);
    for (size_t i = 0; i < machine->rig->server_count; i++)
        if (!strcmp(machine->rig->servers[i].address, text))
            snprintf(there.to, sizeof(there.to), "127.0.0.1:%u", machine->rig->servers[i].port);
    struct way_errand *errand = xnew(struct way_errand);
    errand->machine = machine;
    errand->flow = flow;
    errand->next = machine->rig->errands;
    machine->rig->errands = errand;
    errand->dial = dial_start(&machine->rig->loop, target->to[0] ? target : &there, on_dialed, errand);
}

static void do_drop(uint64_t flow, void *user)
{
    struct way_machine *machine = user;

    for (struct way_errand *errand = machine->rig->errands, *next; errand; errand = next) {
        next = errand->next;
        if (errand->machine != machine || errand->flow != flow)
            continue;
        dial_cancel(errand->dial);
        end_errand(errand);
    }
}

static void do_record(const struct flow_record *record, void *user)
{
    struct way_machine *machine = user;
    struct way_row *row = &machine->rows[machine->row_count++ % WAY_ROWS];
    const struct flow *flow = record->flow;

    *row = (struct way_row){.row = record->row, .count = record->count};
    if (flow) {
        row->flow = flow->id;
        row->up = flow->up;
        row->down = flow->down;
        row->reason = flow->verdict.reason;
        snprintf(row->authority, sizeof(row->authority), "%.60s", flow->authority);
    }
    snprintf(row->end, sizeof(row->end), "%s", record->end ? record->end : "");
    snprintf(row->end_reason, sizeof(row->end_reason), "%s", record->end_reason ? record->end_reason : "");
    if (record->row == FLOW_ROW_OPEN)
        flows_recorded(machine->flows, flow->id, true);
}

static void do_alert(const char *text, void *user)
{
    (void)text;
    ((struct way_machine *)user)->findings++;
}

static int do_own(struct address *ret_own, size_t max, void *user)
{
    (void)user;
    return dial_own_addresses(ret_own, max, NULL);
}

static uint64_t do_ask(const struct flow *flow, enum reason *ret_reason, void *user)
{
    struct way_machine *machine = user;

    if (machine->nobody) {
        *ret_reason = REASON_NO_UI;
        return 0;
    }
    machine->asked_flow = flow->id;
    return ++machine->asks;
}

static const struct flow_ops flow_ops = {
    .send = do_send,
    .resolve = do_resolve,
    .dial = do_dial,
    .drop = do_drop,
    .record = do_record,
    .alert = do_alert,
    .own = do_own,
    .ask = do_ask,
};

/* ---- a machine ---- */

static bool on_flow(struct guest *guest, const void *message, void *user)
{
    (void)guest;
    return flows_take(now(user), message);
}

static void on_flows_lost(struct guest *guest, void *user)
{
    (void)guest;
    flows_lost(now(user));
}

static void on_alert(struct guest *guest, const char *text, void *user)
{
    struct way_machine *machine = user;

    (void)guest;
    machine->alerts++;
    snprintf(machine->last_alert, sizeof(machine->last_alert), "%s", text);
}

static void on_state(struct guest *guest, bool up, void *user)
{
    (void)guest;
    (void)up;
    (void)user;
}

static bool load_key(const char *project, uint32_t port, uint8_t key[32], void *user)
{
    struct way_machine *machine = user;

    (void)project;
    if (machine->have_key[port])
        memcpy(key, machine->keys[port], WMSG_KEY_SIZE);
    return machine->have_key[port];
}

static int save_key(const char *project, uint32_t port, const uint8_t key[32], void *user, struct error **err)
{
    struct way_machine *machine = user;

    (void)project;
    (void)err;
    memcpy(machine->keys[port], key, WMSG_KEY_SIZE);
    machine->have_key[port] = true;
    return 0;
}

void way_policy(struct way_machine *machine, enum policy_mode mode, const char *const *rules)
{
    struct policy_options options = {.generation = ++machine->generation, .mode = mode};
    struct rule *parsed[64];
    size_t count = 0;

    for (; rules && rules[count]; count++) {
        struct rule_origin origin = {.layer = LAYER_PROJECT};
        assert_int_equal(rule_parse(rules[count], strlen(rules[count]), &origin, &parsed[count], NULL), 0);
    }
    policy_unref(machine->policy);
    machine->policy = NULL;
    assert_int_equal(policy_create(&options, parsed, count, &machine->policy, NULL), 0);
    flows_set_policy(now(machine), machine->policy);
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

struct way_machine *way_machine(struct way_rig *rig, const char *project, enum policy_mode mode,
                                const char *const *rules, const char *control, const char *egress)
{
    struct way_machine *machine = &rig->machines[rig->machine_count++];
    autofree char *none = xasprintf("%s/none", rig->folder);

    assert_true(rig->machine_count <= WAY_MACHINES);
    machine->rig = rig;
    machine->project = project;
    machine->rows = xnewn(struct way_row, WAY_ROWS);
    machine->side = (struct flow_guest){.loop = &rig->loop, .fd = -1};
    machine->egress = egress ? xstrdup(egress) : xasprintf("%s/%s", rig->folder, project);
    machine->listener = egress ? -1 : listen_at(machine->egress);
    machine->flows = flows_create(project, &flow_ops, machine);
    way_policy(machine, mode, rules);
    struct guest_options options = {.loop = &rig->loop,
                                    .worker_program = rig->worker,
                                    .project = project,
                                    .ports = {control ? control : none, machine->egress, none},
                                    .load_key = load_key,
                                    .save_key = save_key,
                                    .on_state = on_state,
                                    .on_alert = on_alert,
                                    .on_flow = on_flow,
                                    .on_flows_lost = on_flows_lost,
                                    .user = machine,
                                    .crashes_max = 1000};
    assert_int_equal(guest_create(&options, &machine->guest, NULL), 0);
    guest_set_running(machine->guest, true);
    return machine;
}

void way_step_in_raw(struct way_machine *machine)
{
    flow_guest_leave(&machine->side);
    assert_true(loop_until(
        &machine->rig->loop,
        (machine->side.fd = accept4(machine->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0,
        20000));
    flow_guest_greet(&machine->side);
}

void way_step_in(struct way_machine *machine)
{
    way_step_in_raw(machine);
    flow_guest_begin(&machine->side);
}

void way_open(struct way_machine *machine, struct rig_stream *s, const char *authority)
{
    flow_guest_connect(&machine->side, s, authority, NULL, 0);
    if (!way_until(machine->rig, s->status || s->closed, 10000) || s->status != 200)
        fail_msg("%s: status %d, code %u: %s", authority, s->status, s->code, rig_text(s));
}

const struct way_row *way_row(const struct way_machine *machine, enum flow_row row, const char *authority)
{
    for (size_t i = machine->row_count; i > 0; i--)
        if (machine->rows[(i - 1) % WAY_ROWS].row == row &&
            !strcmp(machine->rows[(i - 1) % WAY_ROWS].authority, authority))
            return &machine->rows[(i - 1) % WAY_ROWS];
    return NULL;
}

size_t way_rows(const struct way_machine *machine, enum flow_row row)
{
    size_t count = 0;

    for (size_t i = 0; i < machine->row_count && i < WAY_ROWS; i++)
        count += machine->rows[i].row == row;
    return count;
}

size_t way_flows(const struct way_machine *machine)
{
    size_t count = 0;

    for (const struct flow *flow = flows_first(machine->flows); flow; flow = flow->next)
        count++;
    return count;
}

/* ---- all ---- */

static void on_tick(uv_timer_t *timer)
{
    struct way_rig *rig = timer->data;

    for (size_t i = 0; i < rig->machine_count; i++)
        flows_tick(now(&rig->machines[i]));
}

/* hutch-worker lies beside the tests' folder: BUILD/hutch-worker, BUILD/tests/unit/test_x. */
static char *find_worker(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    require(n > 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    return file_join(path, "hutch-worker");
}

void way_start(struct way_rig *rig)
{
    *rig = (struct way_rig){.worker = find_worker()};
    signal(SIGPIPE, SIG_IGN);
    alarm(240);
    snprintf(rig->folder, sizeof(rig->folder), "/tmp/hutch-way-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    uv_timer_init(&rig->loop, &rig->tick);
    rig->tick.data = rig;
    uv_timer_start(&rig->tick, on_tick, 5, 5);
}

static void stop_server(struct way_server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (int i = 0; i < 2000 && server->open; i++)
        usleep(5000);
    assert_int_equal(server->open, 0); /* whatever was connected has been closed */
}

void way_stop(struct way_rig *rig)
{
    for (size_t i = 0; i < rig->machine_count; i++) {
        struct way_machine *machine = &rig->machines[i];
        flow_guest_leave(&machine->side);
        guest_destroy(machine->guest);
        flows_destroy(now(machine));
        policy_unref(machine->policy);
        cleanup_close(&machine->listener);
        free(machine->egress);
        free(machine->rows);
    }
    assert_null(rig->errands);
    uv_close((uv_handle_t *)&rig->tick, NULL);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    for (size_t i = 0; i < rig->server_count; i++)
        stop_server(&rig->servers[i]);
    file_remove_tree(rig->folder, NULL);
    free(rig->worker);
}
