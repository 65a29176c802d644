/* wait.h: `hutch-guest wait N`: blocks until a person has answered request N. */
#ifndef HUTCH_GUEST_WAIT_H
#define HUTCH_GUEST_WAIT_H

#define WAIT_EXIT_DENIED 4
#define WAIT_EXIT_GONE   5

/* Prints the verdict and the reason. Returns 0 allow, WAIT_EXIT_DENIED, WAIT_EXIT_GONE, 1 when it cannot be
 * known, 2 for a wrong call. While hutch on the host is away it waits for that. */
int wait_main(int argc, char **argv);

#endif
