/* task.h: a helper process of a call. What touches the files of the guest's users (files, tar, git) runs in
 * such a process, as that user: hutch-guest itself can neither be led astray by a link nor hang on a file
 * system that does not answer. */
#ifndef HUTCH_GUEST_TASK_H
#define HUTCH_GUEST_TASK_H

#include "guest/agent.h"

enum task_shape {
    TASK_OUT,  /* its stdout is the answer; the head waits for its first byte, so that an early failure is an
                  error answer */
    TASK_LINE, /* its stdout is one JSON object (JSON_BODY_MAX), the answer */
    TASK_IN,   /* its stdin is the request's body; the answer comes when it has ended */
    TASK_DUPLEX, /* both, as a byte stream */
};

#define TASK_ARGV_MAX 24

struct task_options {
    enum task_shape shape;
    const char *user;        /* NULL: the default user */
    const char *const *argv; /* the program; with own set: a subcommand of hutch-guest */
    bool own;
    bool commit; /* TASK_IN: descriptor 3 gets a byte when the body has ended in order, end of file otherwise
                  */
    const char *content_type; /* of TASK_OUT */
};

/* Starts it and takes the call over. Status 0 is success. Otherwise the error is the object that it wrote to
 * stderr (task_report), or the last lines of its stderr; an answer that has begun is reset. The client's
 * going away ends the process (SIGTERM, SIGKILL 2 s later). */
void task_start(struct call *call, const struct task_options *options);

/* ---- in the helper process ---- */
/* hutch-guest as USER exec|file ARG…: becomes the user (- is the default one), then executes a program or
 * does a file job. */
int task_as_main(int argc, char **argv);
/* Writes an error as the caller's answer; returns the exit status. */
int task_report(const struct error *err);

#endif
