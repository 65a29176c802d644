#include "journal/journal.h"

#include "base/alloc.h"
#include "journal/store.h"

#include <stdlib.h>
#include <string.h>

/* So many damaged rows are looked at for the place they came from: each costs a search. */
#define MOVED_LOOKUPS 64
/* A row that was moved by so little is found without a search. */
#define MOVED_NEAR 8

/* One pass over the chain. */
struct verify {
    sqlite3 *db;
    sqlite3_stmt *by_hash;
    struct chain chain;
    uint8_t id[HASH_SIZE];
    struct anchor *anchors; /* sorted by seq */
    size_t anchor_count, anchor_at;
    size_t other_id, other_hash; /* anchors that name another file, another row */
    int64_t first_other;
    int64_t unanchored; /* first seq that lacks its anchor, 0: none */

    int64_t last_seq, rows;
    uint8_t last_hash[HASH_SIZE];
    bool last_bad; /* the row before was named: what follows from that is not named again */
    int lookups;

    void (*fn)(enum journal_damage damage, int64_t seq, const char *words, void *user);
    void *user;
    int64_t bad;
};

static void report(struct verify *v, enum journal_damage damage, int64_t seq, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void report(struct verify *v, enum journal_damage damage, int64_t seq, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    v->bad++;
    if (v->fn)
        v->fn(damage, seq, words, v->user);
}

/* Whether the row was written as number seq. */
static bool was_number(struct verify *v, const struct record *record, int64_t seq,
                       const uint8_t prev[HASH_SIZE], const uint8_t hash[HASH_SIZE])
{
    struct record moved = *record;
    uint8_t sum[HASH_SIZE];
    moved.seq = seq;
    chain_hash(&v->chain, prev, &moved, sum);
    return !memcmp(sum, hash, HASH_SIZE);
}

/* The number that a row had before it was moved, 0: it was not moved, it was edited. */
static int64_t moved_from(struct verify *v, const struct record *record, const uint8_t prev[HASH_SIZE],
                          const uint8_t hash[HASH_SIZE])
{
    if (v->lookups++ >= MOVED_LOOKUPS)
        return 0;
    for (int64_t seq = record->seq - MOVED_NEAR; seq <= record->seq + MOVED_NEAR; seq++)
        if (seq > 0 && was_number(v, record, seq, prev, hash))
            return seq;
    /* It followed the row whose hash it names, or began the file. */
    if (!memcmp(prev, v->id, HASH_SIZE))
        return was_number(v, record, 1, prev, hash) ? 1 : 0;
    char hex[HEX_SIZE];
    hash_to_hex(prev, hex);
    sqlite3_bind_text(v->by_hash, 1, hex, -1, SQLITE_STATIC);
    int64_t seq = sqlite3_step(v->by_hash) == SQLITE_ROW ? sqlite3_column_int64(v->by_hash, 0) + 1 : 0;
    sqlite3_reset(v->by_hash);
    sqlite3_clear_bindings(v->by_hash);
    return seq > 0 && was_number(v, record, seq, prev, hash) ? seq : 0;
}

/* Compares the row with the anchors of its number and notes those that are absent. */
static void check_anchors(struct verify *v, int64_t seq, const uint8_t hash[HASH_SIZE])
{
    bool found = false;
    while (v->anchor_at < v->anchor_count && v->anchors[v->anchor_at].seq <= seq) {
        const struct anchor *anchor = &v->anchors[v->anchor_at++];
        if (anchor->seq != seq)
            continue;
        found = true;
        if (!memcmp(anchor->hash, hash, HASH_SIZE))
            continue;
        if (!v->other_hash++)
            v->first_other = seq;
    }
    if (!found && seq % ANCHOR_ROWS == 0 && !v->unanchored)
        v->unanchored = seq;
}

/* One row against itself and against the row before it. */
static void check_row(struct verify *v, sqlite3_stmt *row)
{
    struct record record;
    uint8_t prev[HASH_SIZE], hash[HASH_SIZE], sum[HASH_SIZE];
    bool good = record_read(row, &record, prev, hash);
    bool gap = record.seq != v->last_seq + 1;
    if (gap && record.seq == v->last_seq + 2)
        report(v, DAMAGE_MISSING, v->last_seq + 1, "row %lld is missing", (long long)v->last_seq + 1);
    else if (gap)
        report(v, DAMAGE_MISSING, v->last_seq + 1, "rows %lld to %lld are missing",
               (long long)v->last_seq + 1, (long long)record.seq - 1);
    chain_hash(&v->chain, prev, &record, sum);
    bool self = good && !memcmp(sum, hash, HASH_SIZE);
    bool follows = !memcmp(prev, v->last_hash, HASH_SIZE);
    if (!self) {
        int64_t from = good ? moved_from(v, &record, prev, hash) : 0;
        if (from)
            report(v, DAMAGE_REORDERED, record.seq, "row %lld was row %lld before", (long long)record.seq,
                   (long long)from);
        else
            report(v, DAMAGE_EDITED, record.seq, "row %lld was edited", (long long)record.seq);
    } else if (!follows && !gap && !v->last_bad) {
        /* Both rows agree with themselves: one of them was written anew, with a hash to match. */
        if (v->last_seq)
            report(v, DAMAGE_EDITED, v->last_seq, "row %lld was rewritten: row %lld followed another one",
                   (long long)v->last_seq, (long long)record.seq);
        else
            report(v, DAMAGE_REPLACED, record.seq, "the first row belongs to another journal");
    }
    if (self)
        check_anchors(v, record.seq, hash);
    v->last_bad = !self;
    v->last_seq = record.seq;
    memcpy(v->last_hash, hash, HASH_SIZE);
    v->rows++;
}

static int by_seq(const void *a, const void *b)
{
    const struct anchor *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Reads the anchors; the ones of another file are counted and dropped. False: there is no file of them. */
static bool load_anchors(struct verify *v, const char *path, struct error **err)
{
    autofree char *name = anchors_path(path);
    auto(error) struct error *why = NULL;
    size_t count, bad, kept = 0;
    if (anchors_read(name, &v->anchors, &count, &bad, &why) < 0) {
        if (why->code != ERROR_NOT_FOUND)
            error_move(err, &why);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (memcmp(v->anchors[i].id, v->id, HASH_SIZE))
            v->other_id++;
        else
            v->anchors[kept++] = v->anchors[i];
    }
    v->anchor_count = kept;
    qsort(v->anchors, kept, sizeof(*v->anchors), by_seq);
    if (bad)
        report(v, DAMAGE_EDITED, 0, "%zu lines of \"%s\" are no anchors", bad, name);
    return true;
}

/* What the anchors say about the whole. */
static void check_whole(struct verify *v, bool have_anchors)
{
    int64_t known = v->anchor_count ? v->anchors[v->anchor_count - 1].seq : 0;
    if (!have_anchors)
        report(v, DAMAGE_CUT, 0,
               "the file of anchors is gone: whether rows at the end are missing cannot be told");
    else if (v->unanchored)
        report(v, DAMAGE_CUT, v->unanchored, "the anchor of row %lld is missing", (long long)v->unanchored);
    if (v->other_id)
        report(v, DAMAGE_REPLACED, 0, "%zu anchors belong to another journal: the database was replaced",
               v->other_id);
    if (v->other_hash)
        report(v, DAMAGE_REPLACED, v->first_other,
               "row %lld is not the one that was anchored: an older copy was put back, or all was rewritten",
               (long long)v->first_other);
    if (known > v->last_seq)
        report(v, DAMAGE_CUT, v->last_seq + 1,
               "rows %lld to %lld are missing at the end: cut, or an older copy was put back",
               (long long)v->last_seq + 1, (long long)known);
}

/* All rows in one snapshot. A page that SQLite cannot read is a damage, too: the rest is not reached. */
static int check_rows(struct verify *v, const char *path, struct error **err)
{
    auto(stmt) sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(v->db, "SELECT seq FROM event WHERE hash = ?", -1, &v->by_hash, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v2(v->db, "SELECT " EVENT_COLUMNS " FROM event NOT INDEXED ORDER BY seq", -1, &stmt,
                           NULL) != SQLITE_OK)
        return store_fail(v->db, path, err);
    int step;
    while ((step = sqlite3_step(stmt)) == SQLITE_ROW)
        check_row(v, stmt);
    if (step == SQLITE_DONE)
        return 0;
    if ((step & 0xff) != SQLITE_CORRUPT)
        return store_fail(v->db, path, err);
    report(v, DAMAGE_EDITED, v->last_seq + 1, "the database cannot be read behind row %lld: %s",
           (long long)v->last_seq, sqlite3_errmsg(v->db));
    return 0;
}

int journal_verify(struct journal *journal,
                   void (*fn)(enum journal_damage damage, int64_t seq, const char *words, void *user),
                   void *user, int64_t *ret_rows, int64_t *ret_bad, struct error **err)
{
    struct verify v = {.fn = fn, .user = user};
    auto(error) struct error *why = NULL;
    bool have_anchors = false;
    /* A connection of its own: appends and queries go on meanwhile. */
    if (chain_init(&v.chain, &why) == 0 && store_open_reader(journal->path, &v.db, &why) == 0 &&
        store_read_id(v.db, journal->path, v.id, &why) == 0) {
        memcpy(v.last_hash, v.id, HASH_SIZE);
        /* Before the rows: an anchor is written after its row, so each one read here is in the snapshot. */
        have_anchors = load_anchors(&v, journal->path, &why);
        if (!why && check_rows(&v, journal->path, &why) == 0)
            check_whole(&v, have_anchors);
    }
    sqlite3_finalize(v.by_hash);
    sqlite3_close(v.db);
    chain_finish(&v.chain);
    free(v.anchors);
    if (why)
        return error_move(err, &why);
    *ret_rows = v.rows;
    *ret_bad = v.bad;
    return 0;
}
