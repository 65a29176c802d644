#include "h2_pair.h"

#include "base/alloc.h"

size_t h2_pair_move(struct h2_session *from, struct h2_session *to, struct buf *keep)
{
    size_t total = 0;
    const uint8_t *data;
    size_t len;
    while (h2_session_take(from, &data, &len, NULL) == 0 && len > 0) {
        total += len;
        if (keep)
            require(buf_append(keep, data, len, NULL) == 0);
        if (to)
            h2_session_receive(to, data, len, NULL);
    }
    return total;
}

void h2_pair_take(struct h2_session *session, struct buf *out)
{
    h2_pair_move(session, NULL, out);
}

void h2_pair_run(struct h2_pair *pair)
{
    while (h2_pair_move(pair->client, pair->server, NULL) + h2_pair_move(pair->server, pair->client, NULL) >
           0)
        ;
}

void h2_pair_destroy(struct h2_pair *pair)
{
    h2_session_destroy(pair->client);
    h2_session_destroy(pair->server);
}

static void on_head(struct h2_stream *stream, const struct h2_head *head, void *user)
{
    struct h2_record *record = user;
    record->status = head->status;
    record->head_end = head->end;
}

static void on_data(struct h2_stream *stream, const uint8_t *data, size_t len, void *user)
{
    struct h2_record *record = user;
    require(buf_append(&record->data, data, len, NULL) == 0);
    if (!record->keep_window)
        h2_stream_consumed(stream, len);
}

static void on_end(struct h2_stream *stream, void *user)
{
    struct h2_record *record = user;
    record->ends++;
}

static void on_writable(struct h2_stream *stream, void *user)
{
    struct h2_record *record = user;
    record->writables++;
}

static void on_close(struct h2_stream *stream, uint32_t code, void *user)
{
    struct h2_record *record = user;
    record->closes++;
    record->code = code;
    record->stream = NULL;
}

const struct h2_stream_ops h2_record_ops = {
    .on_head = on_head,
    .on_data = on_data,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_close = on_close,
};

void h2_record_init(struct h2_record *record)
{
    *record = (struct h2_record){.stream = NULL};
    buf_init(&record->data, 0);
}

void h2_record_finish(struct h2_record *record)
{
    buf_finish(&record->data);
}
