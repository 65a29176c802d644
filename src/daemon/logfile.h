/* logfile.h: state/hutchd.log, bounded: at its limit it becomes hutchd.log.1 and a new one is begun. */
#ifndef HUTCH_DAEMON_LOGFILE_H
#define HUTCH_DAEMON_LOGFILE_H

#include "base/error.h"

/* Makes the file stdout and stderr of this process. */
int logfile_open(const char *path, struct error **err);
/* Begins a new file when the present one is over its limit. Cheap; called now and then, never by a timer. */
void logfile_bound(void);

#endif
