/* cgroup.h: the guest's own part of the cgroup v2 tree: hutch/agent for hutch-guest itself, hutch/sessions/ID
 * for each session and hutch/sessions/tasks for its helpers, so that one parent holds all that may be frozen.
 * Without cgroup v2, or not as root, all of it does nothing and says so by its return value. */
#ifndef HUTCH_GUEST_CGROUP_H
#define HUTCH_GUEST_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define CGROUP_AGENT    "agent"
#define CGROUP_SESSIONS "sessions"
#define CGROUP_TASKS    "sessions/tasks"

/* True if cgroup v2 is mounted and we may write it. */
bool cgroup_available(void);
/* Creates hutch/NAME (with its parents) and moves the calling process there. Async-signal-safe after
 * cgroup_make. */
bool cgroup_make(const char *name);
bool cgroup_enter(const char *name);
/* Moves another process there. */
bool cgroup_adopt(const char *name, pid_t pid);
/* Sends a signal to every process in hutch/NAME. False if there is no such group. SIGKILL goes by cgroup.kill
 * where it exists. */
bool cgroup_signal(const char *name, int signal);
/* Removes hutch/NAME if it is empty. */
void cgroup_remove(const char *name);
/* Removes the empty groups of sessions that have no socket ID.sock in folder any more: their last background
 * process ended. */
void cgroup_sweep(const char *folder);
/* Sets the calling process's oom_score_adj ("-1000": the out-of-memory killer takes something else; "0": as
 * everybody). */
void cgroup_oom_score(const char *score);

#endif
