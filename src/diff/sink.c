#include "diff/sink.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <string.h>

int sink_flush(struct sink *sink, struct error **err)
{
    struct error *failed = NULL;
    size_t len = sink->len;

    sink->len = 0;
    if (len == 0 || fd_write_all(sink->fd, sink->data, len, &failed) == 0)
        return 0;
    if (failed->sys == EFBIG) {
        error_free(failed);
        return error_set(err, ERROR_LIMIT, "it is more than one answer may be");
    }
    return error_move(err, &failed);
}

int sink_write(struct sink *sink, const void *data, size_t len, struct error **err)
{
    const uint8_t *from = data;

    while (len > 0) {
        size_t part = SINK_ROOM - sink->len < len ? SINK_ROOM - sink->len : len;
        memcpy(sink->data + sink->len, from, part);
        sink->len += part;
        from += part;
        len -= part;
        int rc = sink->len == SINK_ROOM ? sink_flush(sink, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int sink_json(struct sink *sink, json_t *line, struct error **err)
{
    autofree char *text = line ? json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

    json_decref(line);
    require(text != NULL);
    int rc = sink_write(sink, text, strlen(text), err);
    return rc < 0 ? rc : sink_write(sink, "\n", 1, err);
}
