/* A sweep over every allocation of the HTTP/2 library: whichever fails, the session ends cleanly and nothing
 * leaks (the sanitizers see that) or is told twice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "h2_pair.h"
#include "wire/h2_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The allocation that fails; later ones too if stays. */
static struct {
    size_t count, fail_at;
    bool stays;
    size_t live;
} memory;

static bool fails(void)
{
    memory.count++;
    return memory.fail_at && (memory.stays ? memory.count >= memory.fail_at : memory.count == memory.fail_at);
}

static void *take(size_t size, void *user)
{
    if (fails())
        return NULL;
    memory.live++;
    return malloc(size);
}

static void *take_zeroed(size_t n, size_t size, void *user)
{
    if (fails())
        return NULL;
    memory.live++;
    return calloc(n, size);
}

static void *take_again(void *p, size_t size, void *user)
{
    if (fails())
        return NULL;
    memory.live += p == NULL;
    return realloc(p, size);
}

static void give(void *p, void *user)
{
    memory.live -= p != NULL;
    free(p);
}

static nghttp2_mem allocator = {.malloc = take, .free = give, .calloc = take_zeroed, .realloc = take_again};

#define STREAMS 4

struct world {
    struct h2_pair pair;
    struct h2_record near[STREAMS], far[STREAMS * 2];
    size_t requests;
};

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    static const struct h2_field fields[] = {{"content-type", "application/octet-stream"},
                                             {"hutch-offset", "0"}};
    struct world *w = user;
    assert_true(w->requests < countof(w->far));
    struct h2_record *record = &w->far[w->requests++];
    record->stream = stream;
    h2_stream_set_ops(stream, &h2_record_ops, record);
    if (h2_respond(stream, 200, fields, countof(fields), true, NULL) == 0) {
        h2_stream_write(stream, "answer", 6);
        h2_stream_end(stream);
    }
}

/* A life with a bit of everything. Any step may fail; none may crash. */
static void live(struct world *w)
{
    static const struct h2_session_ops server_ops = {.on_request = on_request};
    static uint8_t block[H2_OUT_MAX];
    *w = (struct world){0};
    w->pair.server = h2_session_create(H2_SERVER, NULL, &server_ops, w);
    w->pair.client = h2_session_create(H2_CLIENT, NULL, NULL, w);
    if (!w->pair.server || !w->pair.client)
        return;
    for (size_t i = 0; i < STREAMS; i++) {
        struct h2_stream *stream = h2_request(w->pair.client, "POST", "/v1/some/path?with=query", NULL, NULL,
                                              0, true, &h2_record_ops, &w->near[i], NULL);
        w->near[i].stream = stream;
        if (!stream)
            continue;
        for (int round = 0; round < 3 && w->near[i].stream; round++) {
            h2_stream_write(w->near[i].stream, block, sizeof(block));
            h2_pair_run(&w->pair);
        }
        if (w->near[i].stream && i % 3 == 1)
            h2_stream_reset(w->near[i].stream, H2_CANCEL);
        if (w->near[i].stream && i % 3 == 0)
            h2_stream_end(w->near[i].stream);
        h2_session_ping(w->pair.client, NULL);
        h2_pair_run(&w->pair);
    }
    h2_session_shutdown(w->pair.client, H2_NO_ERROR);
    h2_pair_run(&w->pair);
}

/* Frees the world and checks that every stream that was opened has been closed exactly once. */
static void end(struct world *w)
{
    const struct h2_session *sessions[] = {w->pair.client, w->pair.server};
    for (size_t i = 0; i < 2; i++)
        if (sessions[i] && sessions[i]->dead)
            assert_non_null(h2_session_reason(sessions[i]));
    h2_pair_destroy(&w->pair);
    for (size_t i = 0; i < STREAMS; i++) {
        assert_null(w->near[i].stream);
        assert_true(w->near[i].closes <= 1);
        h2_record_finish(&w->near[i]);
    }
    for (size_t i = 0; i < w->requests; i++) {
        assert_int_equal(w->far[i].closes, 1);
        h2_record_finish(&w->far[i]);
    }
    assert_int_equal(memory.live, 0);
}

static void sweep(bool stays)
{
    static struct world w;
    h2_set_memory(&allocator);
    memory.fail_at = 0;
    memory.count = 0;
    live(&w);
    assert_int_equal(w.requests, STREAMS);
    assert_int_equal(w.near[0].code, 0);
    assert_int_equal(w.near[0].closes, 1);
    end(&w);
    size_t all = memory.count;
    assert_true(all > 100);
    size_t died = 0;
    for (size_t at = 1; at <= all; at++) {
        memory.fail_at = at;
        memory.stays = stays;
        memory.count = 0;
        live(&w);
        bool client_dead = !w.pair.client || w.pair.client->dead;
        bool server_dead = !w.pair.server || w.pair.server->dead;
        died += client_dead || server_dead;
        end(&w);
    }
    assert_true(died > all / 2);
    memory.fail_at = 0;
    h2_set_memory(NULL);
}

static void one_allocation_fails(void **state)
{
    sweep(false);
}

static void all_fail_from_one_on(void **state)
{
    sweep(true);
}

int main(void)
{
    alarm(900);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_fail_from_one_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
