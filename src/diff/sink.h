/* sink.h: what a reading of volumes tells, into a descriptor. */
#ifndef HUTCH_DIFF_SINK_H
#define HUTCH_DIFF_SINK_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define SINK_ROOM 65536

struct sink {
    int fd; /* blocking; the caller's */
    size_t len;
    uint8_t data[SINK_ROOM];
};
int sink_write(struct sink *sink, const void *data, size_t len, struct error **err);
/* A value on a line of its own; takes over the reference. */
int sink_json(struct sink *sink, json_t *line, struct error **err);
/* All must have come through here at the end. */
int sink_flush(struct sink *sink, struct error **err);

#endif
