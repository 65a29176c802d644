/* frames.h: HTTP/2 frames by hand, right ones and wrong ones, and a reader of what comes back. For tests. */
#ifndef HUTCH_TESTS_FRAMES_H
#define HUTCH_TESTS_FRAMES_H

#include "base/buf.h"

enum { F_DATA, F_HEADERS, F_PRIORITY, F_RST, F_SETTINGS, F_PUSH, F_PING, F_GOAWAY, F_WINDOW, F_CONTINUATION };
enum { F_END_STREAM = 1, F_ACK = 1, F_END_HEADERS = 4, F_PADDED = 8 };

struct frame {
    uint32_t length;
    uint8_t type, flags;
    uint32_t stream;
    const uint8_t *payload;
};

void frames_put_u32(uint8_t *out, uint32_t value);
uint32_t frames_get_u32(const uint8_t *in);

/* The client's preface with an empty SETTINGS. */
void frames_preface(struct buf *out);
/* One frame; the second form says another length than the payload has. */
void frames_add(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
                size_t len);
void frames_add_lying(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
                      size_t len, uint32_t said);
void frames_rst(struct buf *out, uint32_t stream, uint32_t code);
void frames_window(struct buf *out, uint32_t stream, uint32_t increment);
/* HPACK: a literal field without indexing and without Huffman coding. */
void frames_field(struct buf *block, const char *name, const char *value);
void frames_field_bytes(struct buf *block, const char *name, size_t name_len, const char *value,
                        size_t value_len);
/* HEADERS by pairs of name and value, ended by NULL. The block begins with the table size of 0 that our
 * SETTINGS ask for. */
void frames_request(struct buf *out, uint32_t stream, int flags, ...) __attribute__((sentinel));
/* The next whole frame of a block of output (a client's preface is skipped). False at the end. */
bool frames_next(const uint8_t **data, size_t *len, struct frame *ret_frame);

#endif
