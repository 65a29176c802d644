/* claim.h: which process opened a connection of this machine: the socket's owner by sock_diag, then the
 * process that holds it by /proc. It is what the guest says of itself; the host takes it as a hint.
 *
 * A thread does the search, one pass over /proc for all questions that wait: 200 connections at once cost one
 * or two passes. The processes that were found last are looked at first. */
#ifndef HUTCH_GUEST_CLAIM_H
#define HUTCH_GUEST_CLAIM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#define CLAIM_TEXT_MAX  4096  /* bytes of the JSON, its end not counted */
#define CLAIM_SEARCH_MS 500   /* a pass over /proc takes no longer: who is not found by then is unknown */
#define CLAIM_SCAN_MAX  16384 /* processes, and descriptors of each, in one pass */

/* Both ends as the process that connected sees them. */
struct claim_ends {
    struct sockaddr_storage from, to;
};

/* The answer. */
struct claim {
    pid_t pid;                     /* 0: unknown */
    char exe[256];                 /* "" unknown; "container ADDRESS" of one that is not the machine's own */
    char text[CLAIM_TEXT_MAX + 1]; /* compact ASCII JSON, "{}" when nothing is known */
};

struct claims;
struct claim_question;
typedef void (*claim_fn)(const struct claim *claim, void *user);

struct claims *claims_create(uv_loop_t *loop);
/* No callback comes afterwards. Waits for the thread, at most CLAIM_SEARCH_MS. */
void claims_destroy(struct claims *claims);
/* Calls done once, later, in the loop. */
struct claim_question *claims_ask(struct claims *claims, const struct claim_ends *ends, claim_fn done,
                                  void *user);
/* Not interested any more: done is not called. Not after it was. */
void claims_forget(struct claim_question *question);
/* Whether the socket at `from` is closed, not only shut for writing: no process has it any more. false for
 * those of containers, of which nothing is known. */
bool claims_peer_gone(struct claims *claims, const struct claim_ends *ends);

/* Whether `from` is an address of this machine, and not of a container in it. */
bool claim_ends_local(const struct claim_ends *ends);

/* ---- claim_proc.c: what /proc says ---- */

struct claim_owner {
    uint64_t inode; /* 0: no socket of this machine, or one without an owner */
    uid_t uid;
    pid_t pid; /* found: != 0 */
};
/* Looks for the processes that hold the sockets; sets pid of those found. `recent` are pids to look at first.
 */
void claim_proc_search(struct claim_owner *owners, size_t count, const pid_t *recent, size_t recent_count);
/* Fills the claim of a process in; ends: for one that is not of this machine. */
void claim_proc_describe(const struct claim_owner *owner, const struct claim_ends *ends, struct claim *ret);

#endif
