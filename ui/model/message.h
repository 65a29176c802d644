/* message.h: everything that can happen to the screen, as data: a key, a size, the time, an answer of hutchd.
 * The model takes one after another (app_update) and asks for what it wants done by effects; it never waits,
 * calls or draws. */
#ifndef HUTCH_UI_MESSAGE_H
#define HUTCH_UI_MESSAGE_H

#include "base/buf.h"
#include "ui/grid/key.h"

#include <jansson.h>

enum message_type {
    MESSAGE_KEY,    /* key */
    MESSAGE_SIZE,   /* rows, columns */
    MESSAGE_TIME,   /* now_ns alone: once a second while something shown depends on it */
    MESSAGE_UP,     /* connected to hutchd: body is GET /v1/version's */
    MESSAGE_DOWN,   /* hutchd is away; error says why */
    MESSAGE_LINE,   /* one line (body) of the answer to effect `id` */
    MESSAGE_BYTES,  /* bytes of the answer to effect `id`; offset: of the first, from the stream's first byte
                     */
    MESSAGE_ANSWER, /* the end of effect `id`: body (may be NULL), or error */
    MESSAGE_SETTINGS, /* the user's configuration changed: bytes is the file, error: it cannot be read */
};
struct message {
    enum message_type type;
    int64_t now_ns; /* always: the clock, injected */
    struct key_event key;
    int rows, columns;
    uint64_t id;
    const json_t *body; /* borrowed */
    const uint8_t *bytes;
    size_t len;
    uint64_t offset;
    const struct error *error; /* borrowed, or NULL */
};

#endif
