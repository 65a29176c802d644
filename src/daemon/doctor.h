/* doctor.h: what this host needs to run machines, looked at one by one, each with the way to mend it. */
#ifndef HUTCH_DAEMON_DOCTOR_H
#define HUTCH_DAEMON_DOCTOR_H

#include "daemon/job.h"

extern const struct job_kind
    doctor_kind; /* no params; lines {"check","state","text","fix"}, result {"failed","warned"} */

#endif
