/* progress.h: one line on stderr that is redrawn, only on a terminal; without one it is silent. */
#ifndef HUTCH_CLI_PROGRESS_H
#define HUTCH_CLI_PROGRESS_H

#include "client/client.h"

struct progress {
    bool on;    /* stderr is a terminal */
    bool drawn; /* the line is there */
    int64_t start_ns, phase_ns, drawn_ns;
    char *phase;
    json_t *last; /* the last line, drawn again while nothing new comes: its clock goes on */
};

void progress_init(struct progress *progress);
/* One line of the API's progress ("phase", "text", "done", "total", "unit"). */
void progress_line(struct progress *progress, const json_t *line);
/* Bytes of a copy so far; total 0: not known. */
void progress_bytes(struct progress *progress, const char *phase, uint64_t done, uint64_t total);
/* Removes the line, so that something else can be printed. */
void progress_clear(struct progress *progress);
/* Clears and frees. */
void progress_finish(struct progress *progress);
/* A call whose answer is progress lines and a result: client_lines with the line drawn. A line with "warning"
 * is printed as a remark, on a terminal or not. */
int progress_call(struct client *client, const char *method, const char *path, const json_t *body,
                  json_t **ret_result, struct error **err);

#endif
