/* clock.h: notices that the host's clock jumped or that the host slept, and sets the guests' clocks. No timer
 * runs for it. Loop thread. */
#ifndef HUTCH_DAEMON_CLOCK_H
#define HUTCH_DAEMON_CLOCK_H

#include "daemon/daemon.h"

struct clock_watch;
/* NULL where the kernel cannot tell. */
struct clock_watch *clock_watch_create(struct daemon *daemon);
void clock_watch_destroy(struct clock_watch *watch);

#endif
