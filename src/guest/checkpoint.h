/* checkpoint.h: `hutch-guest checkpoint`: an agent has ended a turn. */
#ifndef HUTCH_GUEST_CHECKPOINT_H
#define HUTCH_GUEST_CHECKPOINT_H

/* Tells the host to bring out what was made: commits that were not pushed, stashes, files. Does not wait for
 * it. Returns 0; 1: the host cannot be told (why, on stderr); 2: a wrong call. For the hooks of agents. */
int checkpoint_main(int argc, char **argv);

#endif
