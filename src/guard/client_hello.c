#include "guard/client_hello.h"

#include "base/alloc.h"
#include "guard/bytes.h"

#include <string.h>

#define RECORD_HEADER    5
#define RECORD_BODY_MAX  16384
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEADER   4
#define MESSAGE_HELLO    1

enum extension {
    EXTENSION_SNI = 0,
    EXTENSION_ALPN = 16,
    EXTENSION_VERSIONS = 43,
    EXTENSION_ECH = 0xfe0d,
    EXTENSION_ESNI = 0xffce, /* what ECH was in its drafts */
};

void client_hello_init(struct client_hello *hello)
{
    memset(hello, 0, sizeof(*hello));
    buf_init(&hello->raw, CLIENT_HELLO_MAX);
}

void client_hello_finish(struct client_hello *hello)
{
    buf_finish(&hello->raw);
}

static bool refuse(struct client_hello *hello, enum guard_reason reason)
{
    hello->reason = reason;
    return false;
}

static bool is_label_byte(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

/* Copies a server name in lower case if it is one. */
static bool copy_name(const struct bytes *name, char out[CLIENT_HELLO_NAME_MAX + 1])
{
    size_t label = 0;
    if (name->left == 0 || name->left > CLIENT_HELLO_NAME_MAX)
        return false;
    for (size_t i = 0; i < name->left; i++) {
        uint8_t byte = name->at[i];
        if (byte >= 'A' && byte <= 'Z')
            byte += 'a' - 'A';
        if (byte == '.') {
            if (label == 0)
                return false;
            label = 0;
        } else if (!is_label_byte(byte) || ++label > 63) {
            return false;
        }
        out[i] = (char)byte;
    }
    out[name->left] = 0;
    return label > 0;
}

static bool read_sni(struct client_hello *hello, struct bytes body)
{
    struct bytes list, name;
    uint32_t type;
    if (hello->has_sni)
        return refuse(hello, GUARD_SNI_TWICE);
    if (!bytes_vector(&body, 2, &list) || body.left > 0 || !bytes_number(&list, 1, &type) ||
        !bytes_vector(&list, 2, &name))
        return refuse(hello, GUARD_TLS_MALFORMED);
    if (list.left > 0)
        return refuse(hello, GUARD_SNI_TWICE);
    if (type != 0 || !copy_name(&name, hello->sni))
        return refuse(hello, GUARD_SNI_INVALID);
    hello->has_sni = true;
    return true;
}

static bool read_alpn(struct client_hello *hello, struct bytes body)
{
    struct bytes list, name;
    if (hello->alpn_count > 0 || !bytes_vector(&body, 2, &list) || body.left > 0 || list.left == 0)
        return refuse(hello, GUARD_TLS_MALFORMED);
    while (list.left > 0) {
        if (!bytes_vector(&list, 1, &name) || name.left == 0)
            return refuse(hello, GUARD_TLS_MALFORMED);
        if (hello->alpn_count++ >= CLIENT_HELLO_ALPN_MAX)
            continue;
        char *out = hello->alpn[hello->alpn_count - 1];
        bool plain = name.left < CLIENT_HELLO_ALPN_NAME;
        for (size_t i = 0; plain && i < name.left; i++)
            plain = name.at[i] > 0x20 && name.at[i] < 0x7f;
        if (plain)
            memcpy(out, name.at, name.left);
        else
            out[0] = '?';
    }
    return true;
}

/* GREASE (RFC 8701): 0x0a0a, 0x1a1a and so on. */
static bool is_grease(size_t value)
{
    return (value & 0x0f0f) == 0x0a0a && (value >> 8) == (value & 0xff);
}

static bool read_versions(struct client_hello *hello, struct bytes body)
{
    struct bytes list;
    uint32_t version;
    if (hello->version_count > 0 || !bytes_vector(&body, 1, &list) || body.left > 0 || list.left < 2)
        return refuse(hello, GUARD_TLS_MALFORMED);
    while (list.left > 0) {
        if (!bytes_number(&list, 2, &version))
            return refuse(hello, GUARD_TLS_MALFORMED);
        if (!is_grease(version) && hello->version_count < CLIENT_HELLO_VERSIONS_MAX)
            hello->versions[hello->version_count++] = (uint16_t)version;
    }
    return hello->version_count > 0 || refuse(hello, GUARD_TLS_MALFORMED);
}

static bool read_extension(struct client_hello *hello, uint32_t type, struct bytes body)
{
    switch (type) {
    case EXTENSION_SNI:
        return read_sni(hello, body);
    case EXTENSION_ALPN:
        return read_alpn(hello, body);
    case EXTENSION_VERSIONS:
        return read_versions(hello, body);
    case EXTENSION_ECH:
    case EXTENSION_ESNI:
        hello->ech = true;
        return true;
    default:
        return true;
    }
}

/* The whole message without its header. */
static bool read_message(struct client_hello *hello, struct bytes in)
{
    struct bytes session, ciphers, compressions, extensions, body;
    uint32_t version, type;
    if (!bytes_number(&in, 2, &version) || version >> 8 != 3 || in.left < 32)
        return refuse(hello, GUARD_TLS_MALFORMED);
    in.at += 32; /* random */
    in.left -= 32;
    if (!bytes_vector(&in, 1, &session) || session.left > 32 || !bytes_vector(&in, 2, &ciphers) ||
        ciphers.left < 2 || ciphers.left % 2 != 0 || !bytes_vector(&in, 1, &compressions) ||
        compressions.left == 0)
        return refuse(hello, GUARD_TLS_MALFORMED);
    if (in.left > 0) {
        if (!bytes_vector(&in, 2, &extensions) || in.left > 0)
            return refuse(hello, GUARD_TLS_MALFORMED);
        while (extensions.left > 0) {
            if (!bytes_number(&extensions, 2, &type) || !bytes_vector(&extensions, 2, &body))
                return refuse(hello, GUARD_TLS_MALFORMED);
            if (!read_extension(hello, type, body))
                return false;
        }
    }
    if (hello->version_count == 0)
        hello->versions[hello->version_count++] = (uint16_t)version;
    return true;
}

/* Looks at the first bytes of a record as soon as they are there; ret_len is 0 while its length is unknown.
 */
static bool check_record(struct client_hello *hello, const uint8_t *record, size_t have, size_t *ret_len)
{
    *ret_len = 0;
    if (have >= 1 && record[0] != RECORD_HANDSHAKE) {
        /* SSLv2 begins with its length, the high bit set, and the number of a hello. */
        if (hello->record_at > 0 || !(record[0] & 0x80))
            return refuse(hello, hello->record_at > 0 ? GUARD_TLS_MALFORMED : GUARD_NOT_TLS);
        return have < 3 || refuse(hello, record[2] == 1 ? GUARD_TLS_SSL2 : GUARD_NOT_TLS);
    }
    if (have >= 2 && record[1] != 3)
        return refuse(hello, GUARD_NOT_TLS);
    if (have < RECORD_HEADER)
        return true;
    size_t len = (size_t)record[3] << 8 | record[4];
    if (len == 0 || len > RECORD_BODY_MAX)
        return refuse(hello, GUARD_TLS_MALFORMED);
    if (hello->record_at + RECORD_HEADER + len > CLIENT_HELLO_MAX)
        return refuse(hello, GUARD_TLS_TOO_LONG);
    *ret_len = RECORD_HEADER + len;
    return true;
}

/* Takes the header of the message from the bytes of a record that are there, and refuses what cannot become a
 * hello. */
static bool check_message(struct client_hello *hello, const uint8_t *body, size_t have, size_t record_len)
{
    for (size_t i = 0; i < have && hello->body_len + i < MESSAGE_HEADER; i++)
        hello->header[hello->body_len + i] = body[i];
    size_t known = hello->body_len + have;
    if (known >= 1 && hello->header[0] != MESSAGE_HELLO)
        return refuse(hello, GUARD_TLS_MALFORMED);
    if (known >= MESSAGE_HEADER) {
        const uint8_t *h = hello->header;
        hello->message_len = MESSAGE_HEADER + ((size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3]);
        if (hello->message_len > CLIENT_HELLO_MAX - RECORD_HEADER)
            return refuse(hello, GUARD_TLS_TOO_LONG);
        if (hello->body_len + record_len - RECORD_HEADER > hello->message_len)
            return refuse(hello, GUARD_TLS_MALFORMED); /* something hides behind the hello */
    }
    return true;
}

/* All records are whole: reads the message out of them. */
static bool read_records(struct client_hello *hello)
{
    const uint8_t *raw = buf_data(&hello->raw);
    if (hello->raw.len == RECORD_HEADER + hello->message_len)
        return read_message(
            hello, (struct bytes){raw + RECORD_HEADER + MESSAGE_HEADER, hello->message_len - MESSAGE_HEADER});
    autofree uint8_t *message = xcalloc(hello->message_len, 1);
    size_t len = 0;
    for (size_t at = 0; at < hello->raw.len;) {
        size_t n = (size_t)raw[at + 3] << 8 | raw[at + 4];
        memcpy(message + len, raw + at + RECORD_HEADER, n);
        len += n;
        at += RECORD_HEADER + n;
    }
    return read_message(hello, (struct bytes){message + MESSAGE_HEADER, len - MESSAGE_HEADER});
}

/* How many bytes are needed until the next decision: the rest of a header or of a record. False when refused.
 */
static bool look(struct client_hello *hello, size_t *ret_need)
{
    const uint8_t *record = buf_data(&hello->raw) + hello->record_at;
    size_t have = hello->raw.len - hello->record_at, len;
    if (!check_record(hello, record, have, &len))
        return false;
    if (len == 0) {
        *ret_need = have < 3 ? 1 : RECORD_HEADER - have;
        return true;
    }
    size_t body = have - RECORD_HEADER;
    if (!check_message(hello, record + RECORD_HEADER, body, len))
        return false;
    /* The header of the message byte by byte: its first byte refuses, its last ones give the length. */
    *ret_need = hello->body_len + body < MESSAGE_HEADER && have < len ? 1 : len - have;
    if (have == len) {
        hello->body_len += len - RECORD_HEADER;
        hello->record_at += len;
        hello->done = hello->body_len == hello->message_len;
        *ret_need = hello->done ? 0 : 1;
        /* No further record fits: said now, not when its header has come. */
        if (!hello->done && hello->record_at + RECORD_HEADER >= CLIENT_HELLO_MAX)
            return refuse(hello, GUARD_TLS_TOO_LONG);
    }
    return true;
}

enum client_hello_result client_hello_feed(struct client_hello *hello, const void *data, size_t len,
                                           size_t *ret_used)
{
    size_t used = 0, need = 0;
    require(!hello->done && hello->reason == GUARD_OK);
    while (look(hello, &need)) {
        size_t n = need < len - used ? need : len - used;
        if (n == 0)
            break;
        require(buf_append(&hello->raw, (const uint8_t *)data + used, n, NULL) == 0);
        used += n;
    }
    if (hello->done && !read_records(hello))
        hello->done = false;
    *ret_used = hello->done ? used : len;
    if (hello->reason != GUARD_OK)
        return CLIENT_HELLO_REFUSED;
    return hello->done ? CLIENT_HELLO_DONE : CLIENT_HELLO_MORE;
}

enum guard_reason client_hello_end(struct client_hello *hello)
{
    if (hello->reason == GUARD_OK && !hello->done)
        hello->reason = GUARD_TLS_TRUNCATED;
    return hello->reason;
}

bool client_hello_check(const struct client_hello *hello, const char *host, bool literal, bool ech_deny,
                        enum guard_reason *ret_reason)
{
    require(hello->done);
    enum guard_reason reason = GUARD_OK;
    if (literal)
        reason = hello->has_sni ? GUARD_SNI_LITERAL : GUARD_OK;
    else if (!hello->has_sni)
        reason = GUARD_SNI_MISSING;
    else if (strcmp(hello->sni, host) != 0)
        reason = GUARD_SNI_MISMATCH;
    if (reason == GUARD_OK && ech_deny && hello->ech)
        reason = GUARD_ECH_DENIED;
    if (reason == GUARD_OK)
        return true;
    *ret_reason = reason;
    return false;
}
