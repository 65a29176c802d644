#include "journal/store.h"

#include "base/alloc.h"

#include <string.h>

#define DOMAIN "hutch-journal-1"

enum { TYPE_NULL, TYPE_TEXT, TYPE_NUMBER };

int chain_init(struct chain *chain, struct error **err)
{
    *chain = (struct chain){.md = EVP_MD_fetch(NULL, "SHA256", NULL), .context = EVP_MD_CTX_new()};
    buf_init(&chain->bytes, 0);
    if (!chain->md || !chain->context)
        return error_set(err, ERROR_MISSING, "libcrypto has no SHA-256");
    return 0;
}

void chain_finish(struct chain *chain)
{
    EVP_MD_free(chain->md);
    EVP_MD_CTX_free(chain->context);
    buf_finish(&chain->bytes);
    *chain = (struct chain){0};
}

static void put_integer(struct buf *buf, uint64_t value, int bytes)
{
    uint8_t out[8];
    for (int i = 0; i < bytes; i++)
        out[i] = value >> (8 * (bytes - 1 - i));
    require(buf_append(buf, out, bytes, NULL) == 0);
}

static void put_number(struct buf *buf, int64_t value)
{
    put_integer(buf, TYPE_NUMBER, 1);
    put_integer(buf, (uint64_t)value, 8);
}

static void put_field(struct buf *buf, const struct field *field)
{
    put_integer(buf, field->bytes ? TYPE_TEXT : TYPE_NULL, 1);
    if (!field->bytes)
        return;
    put_integer(buf, field->len, 4);
    require(buf_append(buf, field->bytes, field->len, NULL) == 0);
}

void chain_hash(struct chain *chain, const uint8_t prev[HASH_SIZE], const struct record *record,
                uint8_t ret[HASH_SIZE])
{
    struct buf *buf = &chain->bytes;
    put_number(buf, record->seq);
    put_number(buf, record->ts);
    for (size_t i = 0; i < RECORD_TEXTS; i++)
        put_field(buf, &record->texts[i]);
    for (size_t i = 0; i < RECORD_NUMBERS; i++)
        put_number(buf, record->numbers[i]);
    put_field(buf, &record->data);

    uint8_t length[4];
    for (int i = 0; i < 4; i++)
        length[i] = buf->len >> (8 * (3 - i));
    require(EVP_DigestInit_ex2(chain->context, chain->md, NULL) == 1);
    require(EVP_DigestUpdate(chain->context, DOMAIN, strlen(DOMAIN)) == 1);
    require(EVP_DigestUpdate(chain->context, prev, HASH_SIZE) == 1);
    require(EVP_DigestUpdate(chain->context, length, sizeof(length)) == 1);
    require(EVP_DigestUpdate(chain->context, buf_data(buf), buf->len) == 1);
    require(EVP_DigestFinal_ex(chain->context, ret, NULL) == 1);
    buf_consume(buf, buf->len);
}

void hash_to_hex(const uint8_t hash[HASH_SIZE], char ret[HEX_SIZE])
{
    for (size_t i = 0; i < HASH_SIZE; i++) {
        ret[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        ret[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    ret[HEX_SIZE - 1] = '\0';
}

bool hash_from_hex(const char *hex, size_t len, uint8_t ret[HASH_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    if (!hex || len != HEX_SIZE - 1)
        return false;
    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(digits, hex[i], 16);
        if (!digit)
            return false;
        ret[i / 2] = (i % 2 ? ret[i / 2] << 4 : 0) | (uint8_t)(digit - digits);
    }
    return true;
}

/* A value that must be text or nothing. */
static bool read_field(sqlite3_stmt *row, int column, struct field *ret)
{
    int type = sqlite3_column_type(row, column);
    *ret = (struct field){0};
    if (type == SQLITE_NULL)
        return true;
    ret->bytes = (const char *)sqlite3_column_text(row, column);
    ret->len = sqlite3_column_bytes(row, column);
    return type == SQLITE_TEXT && ret->bytes;
}

static bool read_number(sqlite3_stmt *row, int column, int64_t *ret)
{
    *ret = sqlite3_column_int64(row, column);
    return sqlite3_column_type(row, column) == SQLITE_INTEGER;
}

static bool read_hash(sqlite3_stmt *row, int column, uint8_t ret[HASH_SIZE])
{
    struct field hex;
    memset(ret, 0, HASH_SIZE);
    return read_field(row, column, &hex) && hash_from_hex(hex.bytes, hex.len, ret);
}

bool record_read(sqlite3_stmt *row, struct record *ret, uint8_t ret_prev[HASH_SIZE],
                 uint8_t ret_hash[HASH_SIZE])
{
    bool good = read_number(row, COLUMN_SEQ, &ret->seq);
    good &= read_number(row, COLUMN_TS, &ret->ts);
    for (int i = 0; i < RECORD_TEXTS; i++)
        good &= read_field(row, COLUMN_TEXTS + i, &ret->texts[i]);
    for (int i = 0; i < RECORD_NUMBERS; i++)
        good &= read_number(row, COLUMN_NUMBERS + i, &ret->numbers[i]);
    good &= read_field(row, COLUMN_DATA, &ret->data);
    good &= read_hash(row, COLUMN_PREV, ret_prev);
    good &= read_hash(row, COLUMN_HASH, ret_hash);
    return good;
}
