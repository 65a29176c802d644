/* remote.h: the program under its name git-remote-hutch. */
#ifndef HUTCH_GUEST_REMOTE_H
#define HUTCH_GUEST_REMOTE_H

/* git-remote-hutch REMOTE NAME: speaks gitremote-helpers(7) on stdin and stdout. Returns the exit status. */
int remote_main(int argc, char **argv);

#endif
