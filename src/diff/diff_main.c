/* hutch-diff: reads the file systems inside of layers, which guests have made, for one question of hutchd.
 * Descriptor 3 is a SOCK_SEQPACKET pair over which the question and the layers come (ask.h). The answer goes
 * to stdout, a failure as one line to stderr: its code, a tab, the message, a tab, the hint. Confined before
 * the first byte of a layer is read. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "diff/archive.h"
#include "diff/ask.h"
#include "diff/confine.h"
#include "diff/disk.h"
#include "diff/image.h"
#include "diff/report.h"
#include "diff/texts.h"

#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHANNEL_FD 3

struct question {
    struct diff_ask ask;
    int fds[2 * DISK_LAYERS_MAX];
    uint32_t sides[2 * DISK_LAYERS_MAX];
    struct disk old, new;
};

static int receive(struct question *question, struct error **err)
{
    size_t len = 0, fds = 0;

    if (fd_receive(CHANNEL_FD, &question->ask, sizeof(question->ask), &len, NULL, 0, &fds, err) < 0)
        return -1;
    if (len != sizeof(question->ask) || question->ask.version != DIFF_ASK_VERSION ||
        question->ask.mode >= DIFF_MODES || question->ask.layers > countof(question->fds) ||
        !memchr(question->ask.path, '\0', sizeof(question->ask.path)))
        return error_set(err, ERROR_PROTOCOL, "the question is not understood");
    for (uint32_t i = 0; i < question->ask.layers; i++) {
        struct diff_layer layer;
        int rc = fd_receive(CHANNEL_FD, &layer, sizeof(layer), &len, &question->fds[i], 1, &fds, err);
        if (rc < 0)
            return rc;
        if (len != sizeof(layer) || fds != 1)
            return error_set(err, ERROR_PROTOCOL, "a layer is missing in the question");
        question->sides[i] = layer.sides;
    }
    close(CHANNEL_FD);
    return 0;
}

static int add_layer(struct disk *disk, struct image *image, struct error **err)
{
    if (disk->count == DISK_LAYERS_MAX)
        return error_set(err, ERROR_LIMIT, "a disk has more than %d layers", DISK_LAYERS_MAX);
    disk->layers[disk->count++] = image;
    return 0;
}

/* Once the layers are open they stay so until the end of the process. */
static int open_layers(struct question *question, struct error **err)
{
    for (uint32_t i = 0; i < question->ask.layers; i++) {
        struct image *image;
        int rc = image_open(question->fds[i], &image, err);
        if (rc == 0 && question->sides[i] & DIFF_SIDE_OLD)
            rc = add_layer(&question->old, image, err);
        if (rc == 0 && question->sides[i] & DIFF_SIDE_NEW)
            rc = add_layer(&question->new, image, err);
        if (rc < 0)
            return rc;
    }
    bool both = question->ask.mode == DIFF_CHANGES || question->ask.mode == DIFF_TEXT;
    if (question->new.count == 0 || (both && question->old.count == 0))
        return error_set(err, ERROR_PROTOCOL, "a side has no layers");
    return 0;
}

/* What is asked of the newer side alone. */
static int read_one(struct question *question, struct sink *sink, struct error **err)
{
    struct volume *volume = NULL;
    struct budget budget;

    budget_begin(&budget, DIFF_WALL_S);
    int rc = volume_open(&question->new, &budget, &volume, err);
    if (rc < 0)
        return rc;
    switch ((enum diff_mode)question->ask.mode) {
    case DIFF_STAT:
        rc = archive_stat(volume, question->ask.path, sink, err);
        break;
    case DIFF_FILE:
        rc = archive_file(volume, question->ask.path, sink, err);
        break;
    default:
        rc = archive_folder(volume, question->ask.path, sink, err);
    }
    volume_close(volume);
    return rc;
}

static int answer(struct question *question, struct error **err)
{
    static struct sink sink = {.fd = STDOUT_FILENO};

    int rc = open_layers(question, err);
    if (rc < 0)
        return rc;
    if (question->ask.mode == DIFF_CHANGES)
        rc = report_changes(&question->old, &question->new, &sink, err);
    else if (question->ask.mode == DIFF_TEXT)
        rc = report_text(&question->old, &question->new, question->ask.path, &sink, err);
    else
        rc = read_one(question, &sink, err);
    return rc < 0 ? rc : sink_flush(&sink, err);
}

int main(int argc, char **argv)
{
    static struct question question;
    struct error *err = NULL;

    log_init("hutch-diff");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    mallopt(M_ARENA_MAX, 1);
    tzset();
    int rc = receive(&question, &err);
    if (rc == 0 && question.ask.mode == DIFF_TEXT)
        rc = texts_begin(&err);
    if (rc == 0)
        rc = diff_confine(question.ask.answer_max, &err);
    if (rc == 0)
        rc = answer(&question, &err);
    if (rc == 0)
        _exit(0);
    fprintf(stderr, "%s\t%s\t%s\n", err ? error_code_name(err->code) : "failed",
            err ? err->message : "no reason is given", err && err->hint ? err->hint : "");
    fflush(stderr);
    _exit(1);
}
