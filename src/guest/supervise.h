/* supervise.h: `hutch-guest supervise`, the parent of `hutch-guest serve` in a machine, and the way to it
 * from PID 1. */
#ifndef HUTCH_GUEST_SUPERVISE_H
#define HUTCH_GUEST_SUPERVISE_H

/* As PID 1 (the kernel's init=): starts the supervisor and becomes the machine's own init with the same
 * arguments. Returns only when there is no init at all. */
int supervise_begin(int argc, char **argv);
/* Keeps `serve` alive: at once again, later ever more slowly while it ends within a second. Ignores what an
 * init sends to everybody at the end; systemd leaves a process alone whose argv[0] begins with '@'. */
int supervise_main(int argc, char **argv);

#endif
