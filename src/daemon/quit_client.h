/* quit_client.h: asks the hutchd that runs to end (the user unit's stop). */
#ifndef HUTCH_DAEMON_QUIT_CLIENT_H
#define HUTCH_DAEMON_QUIT_CLIENT_H

#include "base/paths.h"

#include <stdbool.h>

/* Returns when it has done so; none running is no error. save: the machines' memory is saved first. */
int quit_client(const struct paths *paths, bool save, struct error **err);

#endif
