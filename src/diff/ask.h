/* ask.h: what hutchd says to hutch-diff, over a SOCK_SEQPACKET pair: one struct that asks, then the layers,
 * one message and descriptor each. Nothing of it stands in an argv. */
#ifndef HUTCH_DIFF_ASK_H
#define HUTCH_DIFF_ASK_H

#include "diff/budget.h"

#include <stdint.h>

#define DIFF_ASK_VERSION 1

enum diff_mode {
    DIFF_CHANGES, /* what differs from the old to the new one (report.h) */
    DIFF_TEXT,    /* of one path, the lines */
    DIFF_STAT,    /* of a path in the new one (archive.h) */
    DIFF_FILE,
    DIFF_FOLDER,
    DIFF_MODES
};
enum { DIFF_SIDE_OLD = 1, DIFF_SIDE_NEW = 2 };

struct diff_ask {
    uint32_t version, mode;
    uint64_t answer_max;      /* bytes that it may write */
    uint32_t layers;          /* messages that follow */
    char path[DIFF_PATH_MAX]; /* terminated; "" where none is needed */
};
/* With the layer's descriptor. Each side has its layers top first. */
struct diff_layer {
    uint32_t sides;
};

#endif
