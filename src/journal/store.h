/* store.h: what the journal's own files share: the record that is hashed, the chain, the anchors, the handle.
 */
#ifndef HUTCH_JOURNAL_STORE_H
#define HUTCH_JOURNAL_STORE_H

#include "base/buf.h"
#include "journal/journal.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <sqlite3.h>

#define HASH_SIZE       32
#define HEX_SIZE        (2 * HASH_SIZE + 1)
#define STORE_SITE_KIND "egress.open" /* rows of it are found by their subject */

/* The columns in the order of struct record; also that of the hashed bytes (without prev and hash). */
#define EVENT_COLUMNS                                                                                        \
    "seq, ts, project, boot, session, kind, actor, subject, verdict, rule, bytes_up, bytes_down, ms, exit, " \
    "data, "                                                                                                 \
    "prev, hash"
enum { RECORD_TEXTS = 8, RECORD_NUMBERS = 4 };
enum {
    COLUMN_SEQ,
    COLUMN_TS,
    COLUMN_TEXTS,
    COLUMN_NUMBERS = COLUMN_TEXTS + RECORD_TEXTS,
    COLUMN_DATA = COLUMN_NUMBERS + RECORD_NUMBERS,
    COLUMN_PREV,
    COLUMN_HASH
};

/* bytes NULL: no value. Not terminated by contract: a value may hold a NUL that someone put there. */
struct field {
    const char *bytes;
    size_t len;
};

struct record {
    int64_t seq, ts;
    struct field texts[RECORD_TEXTS];
    int64_t numbers[RECORD_NUMBERS];
    struct field data;
};

/* SHA-256 over records; keeps its context and buffer for the next one. */
struct chain {
    EVP_MD *md;
    EVP_MD_CTX *context;
    struct buf bytes;
};
int chain_init(struct chain *chain, struct error **err);
void chain_finish(struct chain *chain);
/* SHA-256("hutch-journal-1" || prev || u32 length || bytes of the record), big endian. Every field has a type
 * and a length before it, so that no two records have the same bytes. */
void chain_hash(struct chain *chain, const uint8_t prev[HASH_SIZE], const struct record *record,
                uint8_t ret[HASH_SIZE]);
void hash_to_hex(const uint8_t hash[HASH_SIZE], char ret[HEX_SIZE]);
/* False unless it is 64 lower-case hex digits. */
bool hash_from_hex(const char *hex, size_t len, uint8_t ret[HASH_SIZE]);

/* Reads the present row of a SELECT of EVENT_COLUMNS. False if a value has a type that the journal never
 * writes. The fields live until the next step of the statement. */
bool record_read(sqlite3_stmt *row, struct record *ret, uint8_t ret_prev[HASH_SIZE],
                 uint8_t ret_hash[HASH_SIZE]);

/* The anchors: an append-only file beside the database, a line "ID SEQ HASH" each ANCHOR_ROWS rows,
 * ANCHOR_SECONDS and at the end. A tail that was cut, or an older copy put back, does not agree with it. */
#define ANCHOR_ROWS    256
#define ANCHOR_SECONDS 60
struct anchor {
    uint8_t id[HASH_SIZE], hash[HASH_SIZE];
    int64_t seq;
};
/* PATH.anchors; caller frees. */
char *anchors_path(const char *path);
/* All anchors of the file in its order; *ret_bad counts lines that are none. A missing file is
 * ERROR_NOT_FOUND. Caller frees. */
int anchors_read(const char *path, struct anchor **ret_anchors, size_t *ret_count, size_t *ret_bad,
                 struct error **err);
/* Opens for appending, creates; cuts off a last line that a crash left incomplete. */
int anchors_open(const char *path, int *ret_fd, struct error **err);
/* Appends one line and brings it to the disk; on failure the file is as before. */
int anchors_append(int fd, const struct anchor *anchor, struct error **err);

struct journal {
    char *path;
    pthread_mutex_t write_lock; /* all up to the reader */
    sqlite3 *writer;            /* NULL: read only */
    sqlite3_stmt *insert;
    struct chain chain;
    uint8_t id[HASH_SIZE], last_hash[HASH_SIZE];
    int64_t last_seq;
    bool stale; /* a write failed: last_seq and last_hash are read again before the next */
    bool full_sync;
    int anchors;          /* descriptor, -1: none */
    int64_t anchored_seq; /* of the last line */
    int64_t anchored_at;  /* monotonic */
    void (*on_append)(int64_t seq, void *user);
    void *on_append_user;

    pthread_mutex_t read_lock;
    sqlite3 *reader;
};

/* A further read-only connection. */
int store_open_reader(const char *path, sqlite3 **ret_db, struct error **err);
/* The id of the file: the prev of its first row. */
int store_read_id(sqlite3 *db, const char *path, uint8_t ret_id[HASH_SIZE], struct error **err);
/* Sets the error of a failed SQLite call; NO_SPACE, CORRUPT, BUSY or IO. */
int store_fail(sqlite3 *db, const char *path, struct error **err);
AUTO_DEFINE(stmt, sqlite3_stmt *, sqlite3_finalize);
AUTO_DEFINE(database, sqlite3 *, sqlite3_close);

#endif
