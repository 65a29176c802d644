/* C21: the host's end of a port is killed under load in both directions and comes back at once, 200 times. A
 * socket pair plays the port: it stays, the guest is told nothing, bytes of the old session are still in it
 * or are lost, also in the middle of a frame. Each time both must be in step within 2 s, and no byte of an
 * old session is read in a new one: every byte carries the number of its session. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/hello.h"
#include "wire/link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS     200
#define IN_STEP_MS 2000
#define STREAMS    3

/* The guest's end: raw until a hello was answered, then a link under a filter. */
struct guest {
    uv_loop_t *loop;
    uv_poll_t poll;
    int fd;
    struct hello_guest hello;
    struct link *link;
    size_t received; /* bytes of the present session */
    uint8_t number;  /* of the session, as its first byte says */
    unsigned sessions;
};

/* The host's end: one process's life. */
struct host {
    uv_loop_t *loop;
    uv_poll_t poll;
    uv_timer_t timer;
    int fd;
    struct hello_host hello;
    struct link *link;
    uint8_t number;
    size_t received;
    struct buf out; /* of the hello, what the port has not taken yet */
};

struct world {
    uv_loop_t loop;
    struct guest guest;
    struct host host;
    unsigned mixed; /* bytes of another session than the present one */
};

static struct world *the_world;

static void fill(struct h2_stream *stream, uint8_t number)
{
    uint8_t block[8192];
    memset(block, number, sizeof(block));
    while (h2_stream_write(stream, block, sizeof(block)) == sizeof(block))
        ;
}

/* ---- guest ---- */

static void guest_raw(uv_poll_t *poll, int status, int events);

static void guest_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct guest *guest = user;
    if (guest->received == 0)
        guest->number = data[0];
    guest->received += len;
    for (size_t i = 0; i < len; i++)
        the_world->mixed += data[i] != guest->number;
    h2_stream_consumed(stream, len);
}

static void guest_writable(struct h2_stream *stream, void *user)
{
    struct guest *guest = user;
    fill(stream, guest->number);
}

static void guest_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                          void *user)
{
    static const struct h2_stream_ops ops = {.on_data = guest_data, .on_writable = guest_writable};
    struct guest *guest = user;
    guest->number = (uint8_t)strtol(head->path + 1, NULL, 10);
    h2_stream_set_ops(stream, &ops, guest);
    h2_respond(stream, 200, NULL, 0, true, NULL);
    fill(stream, guest->number);
}

static int guest_filter(struct link *link, const uint8_t *data, size_t len, struct buf *out, void *user)
{
    struct guest *guest = user;
    hello_guest_receive(&guest->hello, data, len, out);
    return guest->hello.live ? (int)out->len : -1;
}

static void guest_over(struct link *link, const struct error *err, void *user)
{
    struct guest *guest = user;
    if (err) /* no key was seen, the session broke: as after a deadline */
        hello_guest_reset(&guest->hello);
    guest->fd = link_close(link, true);
    guest->link = NULL;
    uv_poll_init(guest->loop, &guest->poll, guest->fd);
    guest->poll.data = guest;
    uv_poll_start(&guest->poll, UV_READABLE, guest_raw);
    guest_raw(&guest->poll, 0, 0); /* the hello may have come with the key: nothing more would wake us */
}

static const struct link_ops guest_ops = {
    .session = {.on_request = guest_request},
    .on_over = guest_over,
    .filter = guest_filter,
};

/* The first bytes of HTTP/2 are there: from here on the link has the descriptor. */
static void guest_go_live(struct guest *guest, const struct buf *early)
{
    uv_poll_stop(&guest->poll);
    uv_close((uv_handle_t *)&guest->poll, NULL);
    uv_run(guest->loop, UV_RUN_NOWAIT); /* the handle is embedded: its close must be through */
    guest->sessions++;
    guest->received = 0;
    require(link_create(guest->loop, guest->fd, H2_SERVER, NULL, &guest_ops, guest, buf_data(early),
                        early->len, &guest->link, NULL) == 0);
}

static struct buf guest_early;
static bool guest_ready;

static void guest_raw(uv_poll_t *handle, int status, int events)
{
    struct guest *guest = handle->data;
    uint8_t chunk[4096]; /* what a virtio-serial port gives at most */
    ssize_t n;
    while (!guest_ready && (n = read(guest->fd, chunk, sizeof(chunk))) > 0) {
        hello_guest_receive(&guest->hello, chunk, (size_t)n, &guest_early);
        guest_ready = guest_early.len > 0;
    }
    if (guest_ready) {
        uv_poll_stop(handle); /* made a link from outside of this callback */
        return;
    }
    /* The port may be full of what nobody will read any more: the reply waits for room. */
    struct pollfd room = {.fd = guest->fd, .events = POLLOUT};
    bool answer = guest->hello.have_hello && poll(&room, 1, 0) == 1;
    if (answer) {
        uint8_t reply[HELLO_REPLY_SIZE];
        hello_guest_reply(&guest->hello, reply);
        require(write(guest->fd, reply, sizeof(reply)) == sizeof(reply));
    }
    uv_poll_start(handle, UV_READABLE | (guest->hello.have_hello ? UV_WRITABLE : 0), guest_raw);
}

/* ---- host ---- */

static void host_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct host *host = user;
    host->received += len;
    for (size_t i = 0; i < len; i++)
        the_world->mixed += data[i] != host->number;
    h2_stream_consumed(stream, len);
}

static void host_writable(struct h2_stream *stream, void *user)
{
    struct host *host = user;
    fill(stream, host->number);
}

static void host_over(struct link *link, const struct error *err, void *user)
{
    fail_msg("the host's session broke: %s", err ? err->message : "in order");
}

static void host_start(struct host *host, const uint8_t *early, size_t early_len)
{
    static const struct link_ops ops = {.on_over = host_over};
    static const struct h2_stream_ops stream_ops = {.on_data = host_data, .on_writable = host_writable};
    require(link_create(host->loop, host->fd, H2_CLIENT, NULL, &ops, host, early, early_len, &host->link,
                        NULL) == 0);
    autofree char *path = xasprintf("/%u", host->number);
    for (int i = 0; i < STREAMS; i++)
        fill(h2_request(link_session(host->link), "POST", path, NULL, NULL, 0, true, &stream_ops, host, NULL),
             host->number);
}

static void host_raw(uv_poll_t *poll, int status, int events);

/* The port may be full of the old session's bytes: the rest goes when it has room. */
static void host_write(struct host *host)
{
    ssize_t n = write(host->fd, buf_data(&host->out), host->out.len);
    require(n > 0 || errno == EAGAIN);
    buf_consume(&host->out, n > 0 ? (size_t)n : 0);
    uv_poll_start(&host->poll, UV_READABLE | (host->out.len ? UV_WRITABLE : 0), host_raw);
}

static void host_say(uv_timer_t *timer)
{
    struct host *host = timer->data;
    uint8_t wire[HELLO_KEY_SIZE + HELLO_SIZE];
    if (host->out.len == 0) {
        hello_host_make(&host->hello, wire);
        require(buf_append(&host->out, wire, sizeof(wire), NULL) == 0);
        host_write(host);
    }
    uv_timer_start(timer, host_say, hello_host_delay_ms(&host->hello), 0);
}

static uint8_t host_rest[65536];
static size_t host_rest_len;
static bool host_ready;

static void host_raw(uv_poll_t *poll, int status, int events)
{
    struct host *host = poll->data;
    if (host->out.len > 0)
        host_write(host);
    ssize_t n = read(host->fd, host_rest, sizeof(host_rest));
    size_t used;
    uint32_t version;
    if (n > 0 && hello_host_receive(&host->hello, host_rest, (size_t)n, &used, &version)) {
        host_rest_len = (size_t)n - used;
        memmove(host_rest, host_rest + used, host_rest_len);
        host_ready = true;
        uv_poll_stop(poll);
        uv_timer_stop(&host->timer);
    }
}

/* A new process takes the port over. */
static void host_begin(struct host *host, const uint8_t *old_key, unsigned round)
{
    host->number = (uint8_t)round;
    host->received = 0;
    host_ready = false;
    hello_host_init(&host->hello, old_key);
    uv_poll_init(host->loop, &host->poll, host->fd);
    uv_timer_init(host->loop, &host->timer);
    host->poll.data = host->timer.data = host;
    buf_consume(&host->out, host->out.len);
    host_say(&host->timer);
}

/* As by kill -9: nothing more is said, and some of what was on the way to it is lost. */
static void host_kill(struct host *host, unsigned round)
{
    host->fd = link_close(host->link, true);
    host->link = NULL;
    uint8_t lost[4001];
    size_t rounds = (size_t)(round * 7919u % 37);
    for (size_t i = 0; i < rounds; i++)
        if (read(host->fd, lost, 1 + round * 31u % sizeof(lost)) < 0)
            break;
}

/* Milliseconds that this process ran or slept: not those in which it waited for a processor of a busy
 * machine. */
static uint64_t now_ms(void)
{
    unsigned long long ran, waited = 0;
    FILE *stat = fopen("/proc/self/schedstat", "re");
    if (stat && fscanf(stat, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (stat)
        fclose(stat);
    return (uv_hrtime() - waited) / 1000000;
}

/* Turns the loop; what must happen outside of callbacks happens here. */
static void turn(struct world *w)
{
    uv_run(&w->loop, UV_RUN_ONCE);
    if (host_ready && !w->host.link) {
        uv_close((uv_handle_t *)&w->host.poll, NULL);
        uv_close((uv_handle_t *)&w->host.timer, NULL);
        uv_run(&w->loop, UV_RUN_NOWAIT);
        host_start(&w->host, host_rest, host_rest_len);
    }
    if (guest_ready && !w->guest.link) {
        guest_ready = false;
        guest_go_live(&w->guest, &guest_early);
        buf_consume(&guest_early, guest_early.len);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void C21_two_hundred_kills_under_load(void **state)
{
    static struct world world;
    struct world *w = the_world = &world;
    static uint64_t took[ROUNDS];
    int fds[2];
    uv_loop_init(&w->loop);
    assert_int_equal(fd_socketpair(SOCK_STREAM, true, fds, NULL), 0);
    buf_init(&guest_early, 0);
    w->guest = (struct guest){.loop = &w->loop, .fd = fds[0]};
    w->host = (struct host){.loop = &w->loop, .fd = fds[1]};
    hello_guest_init(&w->guest.hello);
    uv_poll_init(&w->loop, &w->guest.poll, fds[0]);
    w->guest.poll.data = &w->guest;
    uv_poll_start(&w->guest.poll, UV_READABLE, guest_raw);

    uint8_t key[HELLO_KEY_SIZE];
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t began = now_ms();
        host_begin(&w->host, round ? key : NULL, round);
        memcpy(key, w->host.hello.new_key, sizeof(key)); /* recorded before it is used */
        while (w->host.received == 0 || w->guest.received == 0 || w->guest.number != w->host.number)
            turn(w);
        uint64_t ended = now_ms();
        took[round] = ended > began ? ended - began : 0; /* the two clocks are not read at once */
        /* Load both ways, then the kill in the middle of it, each time at another point. */
        size_t load = 100000 + round * 104729u % 400000;
        while (w->host.received < load || w->guest.received < load)
            turn(w);
        host_kill(&w->host, round);
    }
    assert_int_equal(w->mixed, 0);
    assert_true(w->guest.sessions >= ROUNDS);
    qsort(took, ROUNDS, sizeof(took[0]), compare);
    print_message("in step: median %llu ms, slowest %llu ms\n", (unsigned long long)took[ROUNDS / 2],
                  (unsigned long long)took[ROUNDS - 1]);
    assert_true(took[ROUNDS - 1] < IN_STEP_MS);

    if (w->guest.link)
        w->guest.fd = link_close(w->guest.link, true);
    else
        uv_close((uv_handle_t *)&w->guest.poll, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    buf_finish(&guest_early);
    buf_finish(&w->host.out);
    close(w->guest.fd);
    close(w->host.fd);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    alarm(900);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C21_two_hundred_kills_under_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
