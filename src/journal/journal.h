/* journal.h: the append-only event store (SQLite, WAL) with a hash chain: one row an event, each row's hash
 * covers the row and the hash before it. One writer (hutchd); thread-safe by a lock of its own. Times are
 * nanoseconds since the epoch, UTC. */
#ifndef HUTCH_JOURNAL_JOURNAL_H
#define HUTCH_JOURNAL_JOURNAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kinds of design.md 9 */
#define JOURNAL_KINDS(X)                                                                                     \
    X(lifecycle)                                                                                             \
    X(exec) X(egress) X(dns) X(approval) X(snapshot) X(git) X(file) X(secret) X(policy) X(finding) X(daemon)

/* Longest text in bytes, and longest data. */
#define JOURNAL_TEXT_MAX 1024
#define JOURNAL_DATA_MAX (256 * 1024)

/* Strings may be NULL. seq, prev and hash are filled by the journal. All strings but data are made safe
 * (text.h) and cut at JOURNAL_TEXT_MAX, so that no reader has to. data is the exact JSON text of further
 * fields, on one line (compact): ERROR_LIMIT beyond JOURNAL_DATA_MAX, ERROR_INVALID with control characters
 * or invalid UTF-8. */
struct event {
    int64_t seq, ts;
    const char *project, *boot, *session;
    const char *kind;    /* "exec", "lifecycle.start", "git.clone" … : a kind, optionally with a sub-kind */
    const char *actor;   /* "user", "hutchd", "guest" */
    const char *subject; /* what it is about, one line */
    const char *verdict, *rule;
    int64_t bytes_up, bytes_down, ms, exit; /* -1: not known */
    const char *data;
    const char *prev, *hash; /* 64 hex digits */
};
#define EVENT_INIT                                                                                           \
    {                                                                                                        \
        .bytes_up = -1, .bytes_down = -1, .ms = -1, .exit = -1                                               \
    }

struct journal;
/* Opens or creates PATH and PATH.anchors (mode 0600). read_only: for `journal verify` beside a running
 * hutchd; a missing file is ERROR_NOT_FOUND then, one that is no database ERROR_CORRUPT. */
int journal_open(const char *path, bool read_only, struct journal **ret_journal, struct error **err);
void journal_close(struct journal *journal);
/* Appends and commits (durable: fsynced, for a person's decisions). *ret_seq may be NULL. The event's ts 0
 * means now. ERROR_NO_SPACE, ERROR_IO: it is not in the journal; nothing may be allowed because of it. The
 * next append may succeed. */
int journal_append(struct journal *journal, const struct event *event, bool durable, int64_t *ret_seq,
                   struct error **err);

/* Appends count events (1 or more) as one transaction: all of them or none. *ret_seq (may be NULL) is the
 * last one's number. on_append is called once, with that number. */
int journal_append_all(struct journal *journal, const struct event *events, size_t count, bool durable,
                       int64_t *ret_seq, struct error **err);

struct journal_query {
    const char *project;     /* NULL: all */
    const char *not_project; /* rows of every other project; NULL: all */
    const char *kind;        /* "exec" matches exec and exec.*; NULL: all */
    const char *session;
    const char
        *subject; /* exactly; found by an index where kind is "egress.open", else slow without a project */
    int64_t after_seq;  /* rows with seq > this */
    int64_t before_seq; /* and seq < this; 0: no bound */
    int64_t since_ts;   /* 0: no bound */
    size_t limit;       /* 0: no bound */
    bool newest;        /* with limit: the newest rows, still in ascending order */
    /* each > 0: the newest `limit` rows of all, and with them the newest `each` rows of every one of these
     * projects (NULL-ended, JOURNAL_EACH_MAX are looked at), ascending; project, kind and session do not
     * count. */
    const char *const *each_of;
    size_t each;
};
#define JOURNAL_EACH_MAX 400
/* Calls fn for each row in order of seq; stops when fn returns false. Strings live during the call. Appends
 * go on meanwhile, also from fn; fn must not select. */
int journal_select(struct journal *journal, const struct journal_query *query,
                   bool (*fn)(const struct event *event, void *user), void *user, struct error **err);
int64_t journal_last_seq(struct journal *journal);
/* Called after each append on the appender's thread (live log): post, do nothing else. Numbers of several
 * threads may come in another order. */
void journal_on_append(struct journal *journal, void (*fn)(int64_t seq, void *user), void *user);

/* EDITED: a row is not what was written. MISSING: numbers are left out. REORDERED: a row has another's
 * number. CUT: rows at the end, or anchors, are gone. REPLACED: rows are consistent, but not those that the
 * anchors remember. */
enum journal_damage { DAMAGE_EDITED, DAMAGE_MISSING, DAMAGE_REORDERED, DAMAGE_CUT, DAMAGE_REPLACED };
/* Checks the whole chain on a connection of its own; fn gets each damage (seq, and words). *ret_rows: rows
 * checked. Returns 0 also with damage; *ret_bad counts. */
int journal_verify(struct journal *journal,
                   void (*fn)(enum journal_damage damage, int64_t seq, const char *words, void *user),
                   void *user, int64_t *ret_rows, int64_t *ret_bad, struct error **err);

#endif
