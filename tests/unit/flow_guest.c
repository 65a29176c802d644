#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow_guest.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/hello.h"

#include <string.h>
#include <sys/socket.h>

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    ((struct rig_stream *)user)->status = head->status;
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct rig_stream *s = user;

    s->received += len;
    if (!s->count_only)
        assert_int_equal(buf_append(&s->in, data, len, NULL), 0);
    if (s->paused)
        s->unconsumed += len;
    else
        h2_stream_consumed(stream, len);
}

static void on_end(struct h2_stream *stream, void *user)
{
    ((struct rig_stream *)user)->ended = true;
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct rig_stream *s = user;

    s->stream = NULL;
    s->closed = true;
    s->code = code;
}

void flow_guest_connect(struct flow_guest *guest, struct rig_stream *s, const char *authority,
                        const struct h2_field *fields, size_t count)
{
    static const struct h2_stream_ops ops = {
        .on_head = on_head, .on_data = on_data, .on_end = on_end, .on_close = on_close};
    static const struct h2_field usual[] = {{"hutch-entrance", "connect"}, {"hutch-claim", "{}"}};

    *s = (struct rig_stream){0};
    buf_init(&s->in, 0);
    s->stream = h2_request(link_session(guest->link), "CONNECT", NULL, authority, fields ? fields : usual,
                           fields ? count : countof(usual), true, &ops, s, NULL);
    assert_non_null(s->stream);
}

void flow_guest_write(struct flow_guest *guest, struct rig_stream *s, const void *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t n = s->stream ? h2_stream_write(s->stream, (const uint8_t *)data + at, len - at) : len - at;
        at += n;
        if (at < len)
            uv_run(guest->loop, UV_RUN_ONCE);
    }
}

void rig_end(struct rig_stream *s)
{
    h2_stream_end(s->stream);
}

void rig_reset(struct rig_stream *s)
{
    h2_stream_reset(s->stream, H2_CANCEL);
}

const char *rig_text(struct rig_stream *s)
{
    require(buf_append(&s->in, "", 1, NULL) == 0);
    s->in.len--;
    return (const char *)buf_data(&s->in);
}

void rig_free(struct rig_stream *s)
{
    if (s->stream)
        h2_stream_set_ops(s->stream, NULL, NULL);
    buf_finish(&s->in);
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    ((struct flow_guest *)user)->over = true;
}

void flow_guest_greet(struct flow_guest *guest)
{
    struct hello_guest hello;
    uint8_t bytes[512], reply[HELLO_REPLY_SIZE];
    struct buf pass;
    int ready = 0;

    hello_guest_init(&hello);
    buf_init(&pass, 0);
    while (!ready) {
        ssize_t n = -1;
        assert_true(
            loop_until(guest->loop, (n = recv(guest->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0, 10000));
        ready = hello_guest_receive(&hello, bytes, (size_t)n, &pass);
    }
    hello_guest_reply(&hello, reply);
    assert_int_equal(send(guest->fd, reply, sizeof(reply), 0), sizeof(reply));
    buf_finish(&pass);
}

void flow_guest_begin(struct flow_guest *guest)
{
    static const struct link_ops ops = {.on_over = on_over};
    struct h2_options options = {.trusted = true};

    guest->over = false;
    assert_int_equal(
        link_create(guest->loop, guest->fd, H2_CLIENT, &options, &ops, guest, NULL, 0, &guest->link, NULL),
        0);
    guest->fd = -1;
}

void flow_guest_leave(struct flow_guest *guest)
{
    if (guest->link)
        link_close(guest->link, false);
    guest->link = NULL;
    cleanup_close(&guest->fd);
    guest->fd = -1;
}
