/* health.h: how far the machine has come, without asking more often than something can change.
 *
 * agent:  hutch-guest runs and the init system does not yet.
 * system: systemd works (/run/systemd/system is there) and has not reached its default target.
 * ready:  systemd says running or degraded (`systemctl is-system-running --wait`, one process that waits);
 * then failed_units names what failed. Without systemd: as soon as PID 1 is another program than hutch-guest:
 * an init that tells nothing. failed: systemd ended in its emergency or rescue mode. */
#ifndef HUTCH_GUEST_HEALTH_H
#define HUTCH_GUEST_HEALTH_H

#include "guest/agent.h"

struct health *health_create(struct agent *agent);
void health_destroy(struct health *health);

#endif
