#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "h2_victim.h"

#include "base/alloc.h"
#include "h2_pair.h"

#include <stdlib.h>
#include <unistd.h>

static struct victim *the_victim; /* for the clock, which has no argument */

static uint64_t victim_clock(void)
{
    return the_victim->clock;
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct victim *v = user;
    v->data_bytes += (unsigned)len;
    if (!v->ignore)
        h2_stream_consumed(stream, len);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct victim *v = user;
    v->open--;
    v->closed++;
}

const struct h2_stream_ops victim_stream_ops = {.on_data = on_data, .on_close = on_close};

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct victim *v = user;
    v->requests++;
    v->open++;
    h2_stream_set_ops(stream, &victim_stream_ops, v);
    if (v->tunnels)
        h2_respond(stream, 200, NULL, 0, true, NULL);
}

void victim_make(struct victim *v, enum h2_role role, struct h2_options options)
{
    static const struct h2_session_ops ops = {.on_request = on_request};
    options.now_ms = victim_clock;
    h2_session_destroy(v->session);
    v->session = h2_session_create(role, &options, &ops, v);
    buf_consume(&v->in, v->in.len);
    buf_consume(&v->out, v->out.len);
    v->requests = v->open = v->closed = v->data_bytes = 0;
    if (role == H2_SERVER)
        frames_preface(&v->in);
    else
        frames_add(&v->in, F_SETTINGS, 0, 0, NULL, 0);
}

int victim_set_up(void **state)
{
    alarm(300);
    struct victim *v = the_victim = xnew(struct victim);
    buf_init(&v->in, 0);
    buf_init(&v->out, 0);
    v->clock = 1000;
    victim_make(v, H2_SERVER, (struct h2_options){0});
    *state = v;
    return 0;
}

int victim_tear_down(void **state)
{
    struct victim *v = *state;
    h2_session_destroy(v->session);
    assert_int_equal(v->open, 0);
    buf_finish(&v->in);
    buf_finish(&v->out);
    free(v);
    return 0;
}

/* Sends what was prepared; the answers are collected when read is set. */
int victim_attack(struct victim *v, bool read)
{
    int rc = h2_session_receive(v->session, buf_data(&v->in), v->in.len, NULL);
    buf_consume(&v->in, v->in.len);
    if (read)
        h2_pair_take(v->session, &v->out);
    return rc;
}

/* Looks for a frame in the collected answers. */
bool victim_answered(const struct victim *v, uint8_t type, uint32_t stream, struct frame *ret_frame)
{
    const uint8_t *at = buf_data(&v->out);
    size_t left = v->out.len;
    while (frames_next(&at, &left, ret_frame))
        if (ret_frame->type == type && ret_frame->stream == stream)
            return true;
    return false;
}

void assert_goaway(struct victim *v, uint32_t code)
{
    struct frame frame;
    h2_pair_take(v->session, &v->out);
    assert_true(victim_answered(v, F_GOAWAY, 0, &frame));
    if (code)
        assert_int_equal(frames_get_u32(frame.payload + 4), code);
    assert_true(h2_session_over(v->session));
    assert_false(h2_session_want_send(v->session));
    assert_true(h2_session_receive(v->session, (const uint8_t *)"", 1, NULL) < 0);
}

void assert_rst(struct victim *v, uint32_t stream)
{
    struct frame frame;
    assert_true(victim_answered(v, F_RST, stream, &frame));
    assert_false(h2_session_over(v->session));
}

/* SETTINGS are acknowledged, as a peer does that means to stay. */
void victim_acknowledge(struct victim *v)
{
    frames_add(&v->in, F_SETTINGS, F_ACK, 0, NULL, 0);
    victim_attack(v, true);
}
