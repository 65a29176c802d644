#include "journal/journal.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "journal/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* How long a lock of another connection is waited for. */
#define BUSY_MS 5000

/* seq is the rowid: every index ends in it. The triggers stop mistakes, not an attacker: that is the chain's
 * work. */
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, ts INTEGER NOT NULL, project TEXT, boot TEXT, session TEXT,"
    " kind TEXT NOT NULL, actor TEXT, subject TEXT, verdict TEXT, rule TEXT, bytes_up INTEGER NOT NULL,"
    " bytes_down INTEGER NOT NULL, ms INTEGER NOT NULL, exit INTEGER NOT NULL, data TEXT, prev TEXT NOT NULL,"
    " hash TEXT NOT NULL);"
    "CREATE INDEX event_project ON event(project) WHERE project IS NOT NULL;"
    "CREATE INDEX event_kind ON event(kind);"
    "CREATE INDEX event_session ON event(session) WHERE session IS NOT NULL;"
    "CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'the journal only "
    "grows'); END;"
    "CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'the journal only "
    "grows'); END;"
    "CREATE TRIGGER event_in_order BEFORE INSERT ON event"
    " WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event)"
    " BEGIN SELECT RAISE(ABORT, 'the journal only grows at its end'); END;"
    "CREATE TRIGGER meta_no_update BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'the journal only "
    "grows'); END;"
    "CREATE TRIGGER meta_no_delete BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'the journal only "
    "grows'); END;"
    "INSERT INTO meta VALUES('version', '1'), ('id', '%s');"
    "PRAGMA user_version = 1;"
    "COMMIT;";

int store_fail(sqlite3 *db, const char *path, struct error **err)
{
    enum error_code code = ERROR_IO;
    int primary = sqlite3_errcode(db) & 0xff;
    if (primary == SQLITE_FULL)
        code = ERROR_NO_SPACE;
    else if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
        code = ERROR_CORRUPT;
    else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        code = ERROR_BUSY;
    error_set(err, code, "journal \"%s\": %s", path, sqlite3_errmsg(db));
    if (code == ERROR_NO_SPACE)
        error_hint(err, "free some space on its disk: nothing new is allowed while it cannot be written");
    else if (code == ERROR_CORRUPT)
        error_hint(err, "move it away with its .anchors file; a new one is begun");
    return -(int)code;
}

int store_open_reader(const char *path, sqlite3 **ret_db, struct error **err)
{
    auto(database) sqlite3 *db = NULL;
    if (!file_exists(path))
        return error_set(err, ERROR_NOT_FOUND, "there is no journal \"%s\"", path);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return store_fail(db, path, err);
    sqlite3_busy_timeout(db, BUSY_MS);
    /* Somebody may have put views, functions or virtual tables into it. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    *ret_db = steal(&db);
    return 0;
}

int store_read_id(sqlite3 *db, const char *path, uint8_t ret_id[HASH_SIZE], struct error **err)
{
    auto(stmt) sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'id'", -1, &stmt, NULL) != SQLITE_OK)
        return store_fail(db, path, err);
    int step = sqlite3_step(stmt);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return store_fail(db, path, err);
    if (step == SQLITE_DONE ||
        !hash_from_hex((const char *)sqlite3_column_text(stmt, 0), sqlite3_column_bytes(stmt, 0), ret_id))
        return error_set(err, ERROR_CORRUPT, "journal \"%s\" has no id", path);
    return 0;
}

static int execute(struct journal *journal, const char *sql, struct error **err)
{
    if (sqlite3_exec(journal->writer, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    int rc = store_fail(journal->writer, journal->path, err);
    if (!sqlite3_get_autocommit(journal->writer))
        sqlite3_exec(journal->writer, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* The version of the tables in the file; 0: an empty file. */
static int read_version(struct journal *journal, int *ret_version, struct error **err)
{
    auto(stmt) sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(journal->writer, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        return store_fail(journal->writer, journal->path, err);
    *ret_version = sqlite3_column_int(stmt, 0);
    return 0;
}

/* Where a host was reached is asked in front of a person. It only makes that quicker: a disk that has no room
 * for it still has a journal. */
static void ensure_site_index(struct journal *journal)
{
    auto(error) struct error *err = NULL;
    if (execute(journal,
                "CREATE INDEX IF NOT EXISTS event_site ON event(subject) WHERE kind = '" STORE_SITE_KIND "'",
                &err) < 0)
        log_debug("journal: no index of sites: %s", err->message);
}

/* Makes the tables, with a new id, unless they are there. */
static int ensure_schema(struct journal *journal, struct error **err)
{
    int version = 0, rc = read_version(journal, &version, err);
    if (rc < 0 || version == 1)
        return rc;
    if (version)
        return error_set(err, ERROR_INVALID, "journal \"%s\" was written by another version of hutch",
                         journal->path);
    autofree char *id = units_random_hex(HASH_SIZE);
    autofree char *sql = xasprintf(schema, id);
    return execute(journal, sql, err);
}

/* Where the chain ends. */
static int read_last(struct journal *journal, struct error **err)
{
    auto(stmt) sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(journal->writer, "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1", -1,
                           &stmt, NULL) != SQLITE_OK)
        return store_fail(journal->writer, journal->path, err);
    int step = sqlite3_step(stmt);
    if (step == SQLITE_DONE) {
        journal->last_seq = 0;
        memcpy(journal->last_hash, journal->id, HASH_SIZE);
    } else if (step != SQLITE_ROW) {
        return store_fail(journal->writer, journal->path, err);
    } else {
        journal->last_seq = sqlite3_column_int64(stmt, 0);
        /* A damaged last row does not stop the log: verify finds it, and the chain goes on from zeros. */
        if (!hash_from_hex((const char *)sqlite3_column_text(stmt, 1), sqlite3_column_bytes(stmt, 1),
                           journal->last_hash))
            memset(journal->last_hash, 0, HASH_SIZE);
    }
    journal->stale = false;
    return 0;
}

/* Whether a commit waits for the disk. */
static int set_sync(struct journal *journal, bool full, struct error **err)
{
    if (journal->full_sync == full)
        return 0;
    int rc = execute(journal, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", err);
    if (rc == 0)
        journal->full_sync = full;
    return rc;
}

static int write_anchor(struct journal *journal, int64_t seq, const uint8_t hash[HASH_SIZE],
                        struct error **err)
{
    struct anchor anchor = {.seq = seq};
    memcpy(anchor.id, journal->id, HASH_SIZE);
    memcpy(anchor.hash, hash, HASH_SIZE);
    int rc = anchors_append(journal->anchors, &anchor, err);
    if (rc < 0)
        return rc;
    journal->anchored_seq = seq;
    journal->anchored_at = units_monotonic_ns();
    return 0;
}

/* Writes the anchors of all full hundreds (of ANCHOR_ROWS) that have none yet: after a crash or a full disk.
 */
static int catch_up(struct journal *journal, struct error **err)
{
    auto(stmt) sqlite3_stmt *stmt = NULL;
    int64_t next = (journal->anchored_seq / ANCHOR_ROWS + 1) * ANCHOR_ROWS;
    if (next > journal->last_seq)
        return 0;
    if (sqlite3_prepare_v2(journal->writer, "SELECT hash FROM event WHERE seq = ?", -1, &stmt, NULL) !=
        SQLITE_OK)
        return store_fail(journal->writer, journal->path, err);
    for (; next <= journal->last_seq; next += ANCHOR_ROWS) {
        uint8_t hash[HASH_SIZE];
        sqlite3_bind_int64(stmt, 1, next);
        bool found =
            sqlite3_step(stmt) == SQLITE_ROW &&
            hash_from_hex((const char *)sqlite3_column_text(stmt, 0), sqlite3_column_bytes(stmt, 0), hash);
        sqlite3_reset(stmt);
        int rc = found ? write_anchor(journal, next, hash, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Opens the anchors. A new journal begins with one for seq 0; one whose file is gone stays without its older
 * ones. */
static int open_anchors(struct journal *journal, struct error **err)
{
    autofree char *path = anchors_path(journal->path);
    autofree struct anchor *anchors = NULL;
    size_t count = 0, bad;
    int rc = file_exists(path) ? anchors_read(path, &anchors, &count, &bad, err) : 0;
    if (rc < 0 || (rc = anchors_open(path, &journal->anchors, err)) < 0)
        return rc;
    if (!journal->last_seq && !count)
        return write_anchor(journal, 0, journal->id, err);
    /* Only rows after the last anchor can lack theirs by a crash. Older ones that are gone were taken away.
     */
    int64_t last = count ? anchors[count - 1].seq : journal->last_seq;
    journal->anchored_seq = last < journal->last_seq ? last : journal->last_seq;
    journal->anchored_at = units_monotonic_ns();
    return catch_up(journal, err);
}

static int open_writer(struct journal *journal, struct error **err)
{
    /* SQLite would make it readable for all; its -wal and -shm take the mode from it. */
    int fd = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open the journal \"%s\"", journal->path);
    close(fd);
    if (sqlite3_open_v2(journal->path, &journal->writer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return store_fail(journal->writer, journal->path, err);
    sqlite3_busy_timeout(journal->writer, BUSY_MS);
    sqlite3_db_config(journal->writer, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    int rc =
        execute(journal,
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216;"
                "PRAGMA temp_store = MEMORY",
                err);
    journal->full_sync = true;
    if (rc == 0 && (rc = ensure_schema(journal, err)) == 0)
        ensure_site_index(journal);
    if (rc < 0 || (rc = store_read_id(journal->writer, journal->path, journal->id, err)) < 0 ||
        (rc = read_last(journal, err)) < 0 || (rc = open_anchors(journal, err)) < 0)
        return rc;
    if (sqlite3_prepare_v3(journal->writer,
                           "INSERT INTO event(" EVENT_COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                           -1, SQLITE_PREPARE_PERSISTENT, &journal->insert, NULL) != SQLITE_OK)
        return store_fail(journal->writer, journal->path, err);
    return 0;
}

int journal_open(const char *path, bool read_only, struct journal **ret_journal, struct error **err)
{
    struct journal *journal = xnew(struct journal);
    journal->path = xstrdup(path);
    journal->anchors = -1;
    pthread_mutex_init(&journal->write_lock, NULL);
    pthread_mutex_init(&journal->read_lock, NULL);
    int rc = chain_init(&journal->chain, err);
    if (rc < 0 || (!read_only && (rc = open_writer(journal, err)) < 0) ||
        (rc = store_open_reader(path, &journal->reader, err)) < 0 ||
        (rc = store_read_id(journal->reader, path, journal->id, err)) < 0) {
        journal_close(journal);
        return rc;
    }
    *ret_journal = journal;
    return 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    sqlite3_close(journal->reader);
    sqlite3_finalize(journal->insert);
    if (journal->writer && journal->anchors >= 0 && !journal->stale) {
        /* Rows first, then their anchor: after a power cut an anchor must not be ahead. */
        int rc = set_sync(journal, true, NULL);
        if (rc == 0)
            rc = sqlite3_wal_checkpoint_v2(journal->writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
        if (rc == SQLITE_OK && journal->last_seq > journal->anchored_seq)
            write_anchor(journal, journal->last_seq, journal->last_hash, NULL);
    }
    sqlite3_close(journal->writer);
    cleanup_close(&journal->anchors);
    chain_finish(&journal->chain);
    pthread_mutex_destroy(&journal->write_lock);
    pthread_mutex_destroy(&journal->read_lock);
    free(journal->path);
    free(journal);
}

/* A kind of JOURNAL_KINDS, alone or with a point and a sub-kind of a-z, 0-9, -. */
static bool kind_is_valid(const char *kind)
{
    static const char *const kinds[] = {
#define X(name) #name,
        JOURNAL_KINDS(X)
#undef X
    };
    size_t head = kind ? strcspn(kind, ".") : 0;
    for (size_t i = 0; i < countof(kinds); i++) {
        if (strlen(kinds[i]) != head || !head || memcmp(kinds[i], kind, head))
            continue;
        const char *sub = kind + head;
        return !*sub || (sub[1] && !sub[1 + strspn(sub + 1, "abcdefghijklmnopqrstuvwxyz0123456789-.")]);
    }
    return false;
}

static int check_event(const struct event *event, struct error **err)
{
    if (!kind_is_valid(event->kind))
        return error_set(err, ERROR_INVALID, "\"%s\" is no kind of event", event->kind ? event->kind : "");
    size_t len = event->data ? strlen(event->data) : 0;
    if (len > JOURNAL_DATA_MAX)
        return error_set(err, ERROR_LIMIT, "the data of a %s event has %zu bytes, more than %d", event->kind,
                         len, JOURNAL_DATA_MAX);
    for (size_t i = 0; i < len;) {
        int32_t code_point;
        i += text_decode(event->data + i, len - i, &code_point);
        if (code_point < 0x20)
            return error_set(err, ERROR_INVALID, "the data of a %s event is not one line of UTF-8",
                             event->kind);
    }
    return 0;
}

/* The record of an event; texts holds its safe strings. */
static void fill_record(const struct event *event, int64_t seq, struct text texts[RECORD_TEXTS],
                        struct record *record)
{
    const char *const strings[RECORD_TEXTS] = {event->project, event->boot,    event->session, event->kind,
                                               event->actor,   event->subject, event->verdict, event->rule};
    *record = (struct record){
        .seq = seq,
        .ts = event->ts ? event->ts : units_now_ns(),
        .numbers = {event->bytes_up, event->bytes_down, event->ms, event->exit},
        .data = {event->data, event->data ? strlen(event->data) : 0},
    };
    for (size_t i = 0; i < RECORD_TEXTS; i++) {
        if (!strings[i])
            continue;
        text_init(&texts[i], strings[i], strlen(strings[i]), JOURNAL_TEXT_MAX, TEXT_DEFAULT);
        record->texts[i] = (struct field){texts[i].bytes, texts[i].len};
    }
}

static void bind_field(sqlite3_stmt *stmt, int column, const struct field *field)
{
    if (field->bytes)
        sqlite3_bind_text(stmt, column + 1, field->bytes, (int)field->len, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, column + 1);
}

static int insert_record(struct journal *journal, const struct record *record, const char *prev,
                         const char *hash, struct error **err)
{
    sqlite3_stmt *stmt = journal->insert;
    sqlite3_bind_int64(stmt, COLUMN_SEQ + 1, record->seq);
    sqlite3_bind_int64(stmt, COLUMN_TS + 1, record->ts);
    for (int i = 0; i < RECORD_TEXTS; i++)
        bind_field(stmt, COLUMN_TEXTS + i, &record->texts[i]);
    for (int i = 0; i < RECORD_NUMBERS; i++)
        sqlite3_bind_int64(stmt, COLUMN_NUMBERS + i + 1, record->numbers[i]);
    bind_field(stmt, COLUMN_DATA, &record->data);
    bind_field(stmt, COLUMN_PREV, &(struct field){prev, HEX_SIZE - 1});
    bind_field(stmt, COLUMN_HASH, &(struct field){hash, HEX_SIZE - 1});
    int rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : store_fail(journal->writer, journal->path, err);
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    return rc;
}

/* Inserts the next row and moves the end of the chain, in memory too. */
static int append_row(struct journal *journal, const struct event *event, struct error **err)
{
    struct text texts[RECORD_TEXTS] = {0};
    struct record record;
    uint8_t hash[HASH_SIZE];
    char prev_hex[HEX_SIZE], hash_hex[HEX_SIZE];

    fill_record(event, journal->last_seq + 1, texts, &record);
    chain_hash(&journal->chain, journal->last_hash, &record, hash);
    hash_to_hex(journal->last_hash, prev_hex);
    hash_to_hex(hash, hash_hex);
    int rc = insert_record(journal, &record, prev_hex, hash_hex, err);
    for (size_t i = 0; i < RECORD_TEXTS; i++)
        text_finish(&texts[i]);
    if (rc < 0)
        return rc;
    journal->last_seq++;
    memcpy(journal->last_hash, hash, HASH_SIZE);
    return 0;
}

/* Rows as one transaction; a single one is one by itself. */
static int append_rows(struct journal *journal, const struct event *events, size_t count, struct error **err)
{
    bool group = count > 1;
    int rc = group ? execute(journal, "BEGIN IMMEDIATE", err) : 0;

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = append_row(journal, &events[i], err);
    if (group && rc == 0)
        rc = execute(journal, "COMMIT", err); /* rolls back when it fails */
    else if (group && !sqlite3_get_autocommit(journal->writer))
        sqlite3_exec(journal->writer, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* Appends under the lock. */
static int append_locked(struct journal *journal, const struct event *events, size_t count, bool durable,
                         struct error **err)
{
    int rc = journal->stale ? read_last(journal, err) : 0;
    if (rc < 0)
        return rc;
    int64_t seq = journal->last_seq + (int64_t)count;
    bool anchor = seq - journal->anchored_seq >= ANCHOR_ROWS ||
                  seq / ANCHOR_ROWS != journal->last_seq / ANCHOR_ROWS ||
                  units_monotonic_ns() - journal->anchored_at >= ANCHOR_SECONDS * INT64_C(1000000000);
    if ((rc = set_sync(journal, durable || anchor, err)) < 0)
        return rc;
    if ((rc = append_rows(journal, events, count, err)) < 0) {
        journal->stale = true;
        return rc;
    }

    /* The rows are written: an anchor that fails is made up for by the next append. */
    auto(error) struct error *why = NULL;
    if (anchor && catch_up(journal, &why) == 0 && journal->anchored_seq < seq)
        write_anchor(journal, seq, journal->last_hash, &why);
    if (why)
        log_debug("journal: no anchor for row %lld: %s", (long long)seq, why->message);
    return 0;
}

int journal_append_all(struct journal *journal, const struct event *events, size_t count, bool durable,
                       int64_t *ret_seq, struct error **err)
{
    require(journal->writer && count > 0);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = check_event(&events[i], err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&journal->write_lock);
    rc = append_locked(journal, events, count, durable, err);
    int64_t seq = journal->last_seq;
    void (*fn)(int64_t, void *) = journal->on_append;
    void *user = journal->on_append_user;
    pthread_mutex_unlock(&journal->write_lock);
    if (rc < 0)
        return rc;
    if (ret_seq)
        *ret_seq = seq;
    if (fn)
        fn(seq, user);
    return 0;
}

int journal_append(struct journal *journal, const struct event *event, bool durable, int64_t *ret_seq,
                   struct error **err)
{
    return journal_append_all(journal, event, 1, durable, ret_seq, err);
}

int64_t journal_last_seq(struct journal *journal)
{
    if (journal->writer) {
        pthread_mutex_lock(&journal->write_lock);
        int64_t seq = journal->last_seq;
        pthread_mutex_unlock(&journal->write_lock);
        return seq;
    }
    pthread_mutex_lock(&journal->read_lock);
    sqlite3_stmt *stmt = NULL;
    int64_t seq = 0;
    if (sqlite3_prepare_v2(journal->reader, "SELECT max(seq) FROM event", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        seq = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    pthread_mutex_unlock(&journal->read_lock);
    return seq;
}

void journal_on_append(struct journal *journal, void (*fn)(int64_t seq, void *user), void *user)
{
    pthread_mutex_lock(&journal->write_lock);
    journal->on_append = fn;
    journal->on_append_user = user;
    pthread_mutex_unlock(&journal->write_lock);
}
