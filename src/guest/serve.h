/* serve.h: `hutch-guest serve [--ports DIR [--root DIR]]`, the agent: three ports, one API. */
#ifndef HUTCH_GUEST_SERVE_H
#define HUTCH_GUEST_SERVE_H

/* Runs until SIGTERM (outside a machine), for ever in one. Returns the exit status. */
int serve_main(int argc, char **argv);

#endif
