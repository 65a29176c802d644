/* Hostile guests against the whole way out (way_rig.h): floods, limits, ends of every kind. Names are the ids
 * of the list of attacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/frames.h"
#include "way_rig.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKER_HWM_KIB (32 * 1024)
#define ECHOES         "echo.test:9000"
#define HEAD(authority)                                                                                      \
    ":method", "CONNECT", ":authority", (authority), "hutch-entrance", "connect", "hutch-claim", "{}"

static struct way_rig rig;
static struct way_machine *machine;
static struct way_server *echo;
static struct buf out, in; /* of the guest, by hand */

static int set_up(void **state)
{
    (void)state;
    way_start(&rig);
    echo = way_serve_at(&rig, "echo.test", "93.184.216.34", serve_echo);
    machine = way_machine(
        &rig, "p1", MODE_DENY,
        WAY_RULES("allow echo.test:9000 proto=tcp", "allow flood.test:9000 proto=tcp", "allow web.test:80"),
        NULL, NULL);
    buf_init(&out, 0);
    buf_init(&in, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_finish(&out);
    buf_finish(&in);
    way_stop(&rig);
    return 0;
}

/* Takes what the worker says. False: it has closed. */
static bool hear(void)
{
    uint8_t block[16384];
    ssize_t n;

    while ((n = recv(machine->side.fd, block, sizeof(block), MSG_DONTWAIT)) > 0)
        if (in.len < 1 << 19)
            assert_int_equal(buf_append(&in, block, (size_t)n, NULL), 0);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Sends what is in `out`, as far as it is taken. False: the worker closed. */
static bool attack(bool listen)
{
    uint64_t begun = uv_hrtime();

    while (out.len && uv_hrtime() - begun < 10000000000ull) {
        ssize_t n = send(machine->side.fd, buf_data(&out), out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) {
            hear();
            return false;
        }
        if (n > 0)
            buf_consume(&out, (size_t)n);
        if (listen && !hear())
            return false;
        uv_run(&rig.loop, n > 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    }
    return true;
}

/* A frame of that type among what the worker said. */
static bool heard(uint8_t type, uint32_t stream)
{
    const uint8_t *data = buf_data(&in);
    size_t len = in.len;
    struct frame frame;

    while (frames_next(&data, &len, &frame))
        if (frame.type == type && frame.stream == stream)
            return true;
    return false;
}

static void begin_unacknowledged(void)
{
    way_step_in_raw(machine);
    frames_preface(&out);
}

static void begin_by_hand(void)
{
    begin_unacknowledged();
    frames_add(&out, F_SETTINGS, F_ACK, 0, NULL, 0);
}

/* The worker is the same, small, and a new session works. */
static void expect_recovery(pid_t pid)
{
    struct rig_stream s;

    way_step_in(machine);
    assert_int_equal(guest_worker_pid(machine->guest), pid);
    way_open(machine, &s, ECHOES);
    flow_guest_write(&machine->side, &s, "still here", 10);
    assert_true(way_until(&rig, s.in.len == 10, 10000));
    rig_end(&s);
    assert_true(way_until(&rig, s.closed && way_flows(machine) == 0, 10000));
    rig_free(&s);
#ifndef __SANITIZE_ADDRESS__
    assert_in_range(way_memory_kib(pid, "VmHWM:"), 1, WORKER_HWM_KIB);
#endif
}

static void expect_goaway(pid_t pid)
{
    assert_true(heard(F_GOAWAY, 0));
    expect_recovery(pid);
}

/* ---- HTTP/2 ---- */

static void C02_rapid_reset(void **state)
{
    (void)state;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    for (uint32_t i = 0; i < 10000; i++) {
        frames_request(&out, 2 * i + 1, F_END_HEADERS, HEAD(ECHOES), NULL);
        frames_rst(&out, 2 * i + 1, 8);
    }
    assert_true(!attack(true) || way_until(&rig, !hear(), 10000));
    assert_true(way_until(&rig, way_flows(machine) == 0, 10000));
    assert_in_range(machine->dials, 0, H2_STREAM_ERRORS_MAX + 1);
    expect_goaway(pid);
}

static void C03_continuations(void **state)
{
    (void)state;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    frames_add(&out, F_HEADERS, 0, 1, "", 0);
    for (unsigned i = 0; i < 10000; i++)
        frames_add(&out, F_CONTINUATION, 0, 1, "", 0);
    assert_true(!attack(true) || way_until(&rig, !hear(), 10000));
    assert_int_equal(machine->row_count, 0);
    expect_goaway(pid);
}

/* A million pings, and no answer is read. */
static void C05_pings_nobody_reads(void **state)
{
    (void)state;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    bool open = true;
    for (unsigned i = 0; i < 100 && open; i++) {
        for (unsigned k = 0; k < 10000; k++)
            frames_add(&out, F_PING, 0, 0, "12345678", 8);
        open = attack(false);
    }
    assert_true(!open || way_until(&rig, !hear(), 15000));
    expect_recovery(pid);
}

static void C07_head_too_large(void **state)
{
    char name[8] = "x-00000";

    (void)state;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    for (uint32_t id = 1; id < 5; id += 2) {
        struct buf block;
        buf_init(&block, 0);
        frames_field(&block, ":method", "CONNECT");
        frames_field(&block, ":authority", ECHOES);
        for (unsigned i = 0; i < 1500; i++) {
            name[2 + i % 5] = (char)('0' + i % 10);
            frames_field(&block, name, "");
        }
        frames_add(&out, F_HEADERS, F_END_HEADERS, id, buf_data(&block), block.len);
        buf_finish(&block);
    }
    bool open = attack(true);
    assert_true(way_until(&rig, !(open = open && hear()) || heard(F_RST, 3) || heard(F_GOAWAY, 0), 10000));
    assert_int_equal(machine->row_count, 0);
    assert_int_equal(machine->dials, 0);
    expect_recovery(pid);
}

/* What is no CONNECT of ours is a stream error, and hutchd hears nothing of it. */
static void C08_no_requests(void **state)
{
    (void)state;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    frames_request(&out, 1, F_END_HEADERS, ":method", "GET", ":scheme", "http", ":path", "/", ":authority",
                   ECHOES, NULL);
    frames_request(&out, 3, F_END_HEADERS, ":path", "/", HEAD(ECHOES), NULL);
    frames_request(&out, 5, F_END_HEADERS, HEAD("echo.test"), NULL);
    frames_request(&out, 7, F_END_HEADERS, ":authority", ECHOES, HEAD(ECHOES), NULL);
    frames_request(&out, 9, F_END_HEADERS, HEAD(ECHOES), "x-more", "1", NULL);
    assert_true(attack(true));
    for (uint32_t id = 1; id <= 9; id += 2)
        assert_true(way_until(&rig, hear() && heard(F_RST, id), 10000));
    struct buf block;
    buf_init(&block, 0);
    frames_field(&block, ":method", "CONNECT");
    frames_field_bytes(&block, ":authority", 10, "echo.test\0:9000", 15);
    frames_field(&block, "hutch-entrance", "connect");
    frames_field(&block, "hutch-claim", "{}");
    frames_add(&out, F_HEADERS, F_END_HEADERS, 11, buf_data(&block), block.len);
    buf_finish(&block);
    assert_true(attack(true));
    assert_true(way_until(&rig, hear() && heard(F_RST, 11), 10000));
    assert_int_equal(machine->row_count, 0);
    assert_int_equal(way_flows(machine), 0);
    expect_recovery(pid);
}

/* A limit is broken, and then come frames of a wrong length. */
static void C20_wrong_lengths(void **state)
{
    static const uint8_t payload[8];

    (void)state;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    frames_request(&out, 1, F_END_HEADERS, HEAD(ECHOES), NULL);
    frames_add(&out, F_PUSH, F_END_HEADERS, 1, payload, 4);
    frames_add(&out, F_WINDOW, 0, 0, payload, 5);
    frames_add(&out, F_PING, 0, 0, payload, 7);
    frames_add(&out, F_RST, 0, 1, payload, 3);
    frames_add(&out, F_SETTINGS, 0, 0, payload, 5);
    frames_add(&out, F_GOAWAY, 0, 0, payload, 2);
    assert_true(!attack(true) || way_until(&rig, !hear(), 10000));
    assert_true(way_until(&rig, way_flows(machine) == 0, 10000));
    expect_goaway(pid);
}

/* 256 streams are open; one more is refused, and they live. */
static void C10_stream_257(void **state)
{
    (void)state;
    begin_unacknowledged(); /* else it is an offence, and the end of all */
    for (uint32_t i = 0; i < H2_STREAMS_MAX + 1; i++)
        frames_request(&out, 2 * i + 1, F_END_HEADERS, HEAD(ECHOES), NULL);
    assert_true(attack(true));
    assert_true(way_until(&rig, hear() && heard(F_RST, 2 * H2_STREAMS_MAX + 1), 10000));
    assert_true(way_until(&rig, hear() && echo->open == H2_STREAMS_MAX, 20000));
    assert_int_equal(way_flows(machine), H2_STREAMS_MAX);
    assert_false(heard(F_GOAWAY, 0));
}

/* Nobody answers a hundred questions; what is allowed passes meanwhile. */
static void C10_held_starve_nobody(void **state)
{
    struct rig_stream held[100], s;

    (void)state;
    way_policy(machine, MODE_ASK, WAY_RULES("allow echo.test:9000 proto=tcp"));
    way_step_in(machine);
    for (size_t i = 0; i < countof(held); i++) {
        char authority[32];
        snprintf(authority, sizeof(authority), "host%zu.test:443", i);
        flow_guest_connect(&machine->side, &held[i], authority, NULL, 0);
    }
    assert_true(
        way_until(&rig, machine->asks == FLOWS_HELD_MAX && way_flows(machine) == FLOWS_HELD_MAX, 10000));
    way_open(machine, &s, ECHOES);
    flow_guest_write(&machine->side, &s, "x", 1);
    assert_true(way_until(&rig, s.in.len == 1, 5000));
    assert_int_equal(machine->lookups, 1);
    for (size_t i = 0; i < countof(held); i++)
        rig_free(&held[i]);
    rig_free(&s);
}

/* ---- windows ---- */

static void expect_bounded(struct way_server *flood, pid_t pid)
{
    uint64_t seen = UINT64_MAX;

    while (seen != flood->sent) {
        seen = flood->sent;
        way_until(&rig, false, 500);
    }
    assert_in_range(seen, 1, 16u << 20); /* buffers of the kernel, most of it */
    assert_int_equal(flood->open, 1);
#ifndef __SANITIZE_ADDRESS__
    assert_in_range(way_memory_kib(pid, "VmHWM:"), 1, WORKER_HWM_KIB);
#endif
}

/* The upstream has a gigabyte, and the guest opens no window. */
static void C06_window_of_zero(void **state)
{
    struct rig_stream s;

    (void)state;
    struct way_server *flood = way_serve_at(&rig, "flood.test", "93.184.216.35", serve_flood);
    flood->mark = 1 << 30;
    way_step_in(machine);
    pid_t pid = guest_worker_pid(machine->guest);
    way_open(machine, &s, "flood.test:9000");
    s.paused = s.count_only = true;
    expect_bounded(flood, pid);
    assert_in_range(s.received, 1, 8 * H2_WINDOW_STREAM); /* what came before it was paused, and a window */
    rig_reset(&s);
    assert_true(way_until(&rig, flood->open == 0, 10000));
    rig_free(&s);
}

/* The guest reads nothing at all of 100 MB. */
static void C18_a_guest_that_does_not_read(void **state)
{
    (void)state;
    struct way_server *flood = way_serve_at(&rig, "flood.test", "93.184.216.35", serve_flood);
    flood->mark = 100 << 20;
    begin_by_hand();
    pid_t pid = guest_worker_pid(machine->guest);
    frames_window(&out, 0, 1 << 30);
    frames_request(&out, 1, F_END_HEADERS, HEAD("flood.test:9000"), NULL);
    frames_window(&out, 1, 1 << 30);
    assert_true(attack(false));
    assert_true(way_until(&rig, flood->sent > 0, 10000));
    expect_bounded(flood, pid);
}

/* ---- ends ---- */

static void one_round(unsigned i)
{
    struct rig_stream s;

    rig.skip_ms += 2; /* the limit of new flows a second is not what is tried here */
    flow_guest_connect(&machine->side, &s, i % 5 == 4 ? "no.test:9000" : ECHOES, NULL, 0);
    assert_true(way_until(&rig, s.status || s.closed, 10000));
    if (s.stream && s.status == 200) {
        flow_guest_write(&machine->side, &s, "x", 1);
        if (i % 97 == 2) {
            rig_reset(&s); /* more than 200 in 10 s would be an offence */
        } else {
            if (i % 2)
                assert_true(way_until(&rig, s.in.len == 1, 10000));
            rig_end(&s);
        }
    }
    assert_true(way_until(&rig, s.closed, 10000));
    rig_free(&s);
}

static void C09_ten_thousand_ends(void **state)
{
    (void)state;
    way_step_in(machine);
    one_round(1);
    pid_t pid = guest_worker_pid(machine->guest);
    assert_true(way_until(&rig, way_flows(machine) == 0 && echo->open == 0, 10000));
    size_t theirs = way_descriptors(pid), ours = way_descriptors(getpid());
    for (unsigned i = 0; i < 10000; i++)
        one_round(i);
    assert_false(machine->side.over);
    assert_true(way_until(&rig, way_flows(machine) == 0 && echo->open == 0, 10000));
    assert_int_equal(way_descriptors(pid), theirs);
    assert_int_equal(way_descriptors(getpid()), ours);
    assert_int_equal(way_rows(machine, FLOW_ROW_OPEN), way_rows(machine, FLOW_ROW_CLOSE));
}

/* The guest is gone while the upstream sends. */
static void C09_guest_gone(void **state)
{
    struct rig_stream s;

    (void)state;
    struct way_server *flood = way_serve_at(&rig, "flood.test", "93.184.216.35", serve_flood);
    flood->mark = 1 << 30;
    for (unsigned i = 0; i < 5; i++) {
        way_step_in(machine);
        way_open(machine, &s, "flood.test:9000");
        s.count_only = true;
        assert_true(way_until(&rig, s.received > 1 << 20, 10000));
        flow_guest_leave(&machine->side);
        assert_true(s.closed);
        assert_true(way_until(&rig, way_flows(machine) == 0 && flood->open == 0, 10000));
        assert_string_equal(way_row(machine, FLOW_ROW_CLOSE, "flood.test:9000")->end, "lost");
        rig_free(&s);
    }
    expect_recovery(guest_worker_pid(machine->guest));
}

/* kill -9 of the worker with bytes on their way both ways: every flow is closed, nothing of it is in the next
 * session. */
static void C21_killed_under_load(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 4; round++) {
        struct rig_stream s;
        uint8_t block[65536];
        way_step_in(machine);
        way_open(machine, &s, ECHOES);
        memset(block, 'a' + (int)round, sizeof(block));
        for (unsigned i = 0; i < 20 + round; i++)
            flow_guest_write(&machine->side, &s, block, sizeof(block));
        kill(guest_worker_pid(machine->guest), SIGKILL);
        assert_true(way_until(&rig, machine->side.over && way_flows(machine) == 0, 10000));
        assert_string_equal(way_row(machine, FLOW_ROW_CLOSE, ECHOES)->end, "lost");
        for (size_t i = 0; i < s.in.len; i++)
            assert_int_equal(buf_data(&s.in)[i], 'a' + (int)round);
        rig_free(&s);
    }
    way_step_in(machine);
}

/* Zeros in place of the reply to a hello: thrown away, and the port pauses. */
static void C13_zeros(void **state)
{
    static const uint8_t zeros[65536];

    (void)state;
    machine->side.fd = -1;
    assert_true(way_until(&rig, (machine->side.fd = accept(machine->listener, NULL, NULL)) >= 0, 10000));
    pid_t pid = guest_worker_pid(machine->guest);
    bool open = true;
    for (unsigned i = 0; i < 1024 && open; i++) {
        assert_int_equal(buf_append(&out, zeros, sizeof(zeros), NULL), 0);
        open = attack(true);
    }
    assert_true(way_until(&rig, machine->alerts == 1, 10000));
    assert_int_equal(machine->row_count, 0);
    buf_consume(&out, out.len);
    expect_recovery(pid);
}

/* ---- exhaustion ---- */

/* 250 streams that send a byte of a request and no more: small, gone after ten seconds, and others go on. */
static void L07_slow_first_flights(void **state)
{
    struct rig_stream slow[250], s;

    (void)state;
    struct way_server *web = way_serve_at(&rig, "web.test", "93.184.216.36", serve_echo);
    way_step_in(machine);
    pid_t pid = guest_worker_pid(machine->guest);
    uint64_t begun = uv_hrtime();
    for (size_t i = 0; i < countof(slow); i++) {
        way_open(machine, &slow[i], "web.test:80");
        flow_guest_write(&machine->side, &slow[i], "G", 1);
    }
    way_open(machine, &s, ECHOES);
    for (unsigned i = 0; i < 5000; i++)
        flow_guest_write(&machine->side, &s, "x", 1);
    assert_true(way_until(&rig, s.in.len == 5000, 10000));
    assert_true(way_until(&rig, way_flows(machine) == 1, 15000));
    assert_in_range((uv_hrtime() - begun) / 1000000, 9000, 30000);
    for (size_t i = 0; i < countof(slow); i++) { /* the host has let go of it; the guest hears of it soon */
        assert_true(way_until(&rig, slow[i].closed, 10000));
        rig_free(&slow[i]);
    }
    assert_int_equal(web->accepted, 0);
    assert_null(way_row(machine, FLOW_ROW_OPEN, "web.test:80"));
    rig_free(&s);
#ifndef __SANITIZE_ADDRESS__
    assert_in_range(way_memory_kib(pid, "VmHWM:"), 1, WORKER_HWM_KIB);
#endif
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(C02_rapid_reset),
        TEST(C03_continuations),
        TEST(C05_pings_nobody_reads),
        TEST(C06_window_of_zero),
        TEST(C07_head_too_large),
        TEST(C08_no_requests),
        TEST(C09_ten_thousand_ends),
        TEST(C09_guest_gone),
        TEST(C10_stream_257),
        TEST(C10_held_starve_nobody),
        TEST(C13_zeros),
        TEST(C18_a_guest_that_does_not_read),
        TEST(C20_wrong_lengths),
        TEST(C21_killed_under_load),
        TEST(L07_slow_first_flights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
