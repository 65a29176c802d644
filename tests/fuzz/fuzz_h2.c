/* C16: fuzz target of the HTTP/2 session: the input is what a hostile peer sends, to a server (as it serves
 * the API, or CONNECT only) or to a client with requests under way. The owner answers, gives windows back,
 * resets and ends by the input. */
#include "base/alloc.h"
#include "wire/h2_internal.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct owner {
    uint32_t seed;
    size_t open; /* streams that wait for on_close */
    size_t data_bytes;
};

static unsigned dice(struct owner *owner)
{
    owner->seed = owner->seed * 1103515245u + 12345u;
    return owner->seed >> 16;
}

/* Does something that an owner may do in any callback. */
static void act(struct owner *owner, struct h2_stream *stream)
{
    static const uint8_t block[20000];
    switch (dice(owner) % 8) {
    case 0:
        h2_stream_reset(stream, H2_CANCEL);
        break;
    case 1:
        h2_stream_end(stream);
        break;
    case 2:
    case 3:
        h2_stream_write(stream, block, dice(owner) % sizeof(block));
        break;
    case 4:
        h2_session_ping(h2_stream_session(stream), NULL);
        break;
    default:
        break;
    }
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    require(head->status >= 200 && head->status <= 599);
    act(user, stream);
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct owner *owner = user;
    owner->data_bytes += len;
    if (dice(owner) % 4)
        h2_stream_consumed(stream, len);
    act(owner, stream);
}

static void on_end(struct h2_stream *stream, void *user)
{
    require(h2_stream_remote_ended(stream));
    act(user, stream);
}

static void on_writable(struct h2_stream *stream, void *user)
{
    act(user, stream);
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct owner *owner = user;
    require(owner->open > 0);
    owner->open--;
    act(owner, stream);
}

static const struct h2_stream_ops stream_ops = {
    .on_head = on_head,
    .on_data = on_data,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_close = on_close,
};

static void on_body(struct h2_stream *stream, json_t *body, const struct error *err, void *user)
{
    if (err)
        json_reply_error(stream, err);
    else
        json_reply(stream, 200, body);
}

static void on_request(struct h2_session *session, struct h2_stream *stream, const struct h2_head *head,
                       void *user)
{
    struct owner *owner = user;
    require(head->method && (head->path || head->authority));
    switch (dice(owner) % 4) {
    case 0: /* refused */
        return;
    case 1:
        if (json_collect(stream, head, on_body, owner, NULL) == 0)
            return;
        break;
    default:
        break;
    }
    owner->open++;
    h2_stream_set_ops(stream, &stream_ops, owner);
    h2_respond(stream, 200, NULL, 0, dice(owner) % 2, NULL);
    act(owner, stream);
}

static void on_answer(int status, json_t *body, const struct error *err, void *user)
{
    struct owner *owner = user;
    owner->open--;
    require(!(body && err));
}

static void on_line(json_t *line, void *user)
{
    require(line != NULL);
}

static void open_requests(struct owner *owner, struct h2_session *session)
{
    struct h2_stream *stream;
    if ((stream = h2_request(session, "CONNECT", NULL, "h:1", NULL, 0, true, &stream_ops, owner, NULL)))
        owner->open++;
    if ((stream = h2_request(session, "GET", "/", NULL, NULL, 0, false, &stream_ops, owner, NULL)))
        owner->open++;
    owner->open += json_call(session, "GET", "/j", NULL, on_answer, owner, NULL) == 0;
    owner->open += json_call_lines(session, "GET", "/l", NULL, on_line, on_answer, owner, NULL) == 0;
}

static uint64_t no_time(void)
{
    return 0;
}

/* Takes what there is, at most a few frames when the owner is slow. */
static void take(struct owner *owner, struct h2_session *session)
{
    const uint8_t *out;
    size_t len;
    unsigned frames = dice(owner) % 3 ? 1000 : 1;
    while (frames-- > 0 && h2_session_take(session, &out, &len, NULL) == 0 && len > 0)
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct h2_session_ops ops = {.on_request = on_request};
    static const char *const fields[] = {"hutch-session", NULL};
    if (size < 4)
        return 0;
    struct owner owner = {.seed = (uint32_t)data[1] | (uint32_t)data[2] << 8};
    uint8_t mode = data[0];
    const struct h2_options options = {
        .now_ms = no_time, .connect_only = mode & 2, .connect_fields = fields, .trusted = mode & 4};
    data += 3;
    size -= 3;

    enum h2_role role = mode & 1 ? H2_CLIENT : H2_SERVER;
    struct h2_session *session = h2_session_create(role, &options, &ops, &owner);
    require(session != NULL);
    if (role == H2_CLIENT)
        open_requests(&owner, session);
    else if (mode & 8) /* otherwise the preface is the input's business too */
        require(h2_session_receive(session, (const uint8_t *)PREFACE, strlen(PREFACE), NULL) == 0);
    take(&owner, session);
    while (size > 0) {
        size_t n = 1 + dice(&owner) % 400;
        n = n < size ? n : size;
        if (h2_session_receive(session, data, n, NULL) < 0)
            require(h2_session_over(session));
        data += n;
        size -= n;
        take(&owner, session);
        require(h2_session_stream_count(session) <= 2 * H2_STREAMS_MAX);
        if (dice(&owner) % 64 == 0)
            h2_session_shutdown(session, dice(&owner) % 2);
    }
    h2_session_destroy(session);
    require(owner.open == 0);
    return 0;
}
