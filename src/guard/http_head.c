#include "guard/http_head.h"

#include "base/alloc.h"

#include <string.h>
#include <strings.h>

/* Digits of a Content-Length: all below 2^63. */
#define LENGTH_DIGITS_MAX 18

void http_head_init(struct http_head *head, enum http_kind kind)
{
    memset(head, 0, sizeof(*head));
    head->kind = kind;
    buf_init(&head->bytes, kind == HTTP_REQUEST ? HTTP_REQUEST_HEAD_MAX : HTTP_RESPONSE_HEAD_MAX);
}

void http_head_finish(struct http_head *head)
{
    buf_finish(&head->bytes);
}

void http_head_reset(struct http_head *head)
{
    struct buf bytes = head->bytes;
    enum http_kind kind = head->kind;
    buf_consume(&bytes, bytes.len);
    memset(head, 0, sizeof(*head));
    head->kind = kind;
    head->bytes = bytes;
}

bool http_head_begun(const struct http_head *head)
{
    return head->bytes.len > 0;
}

bool http_is_token(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte > 0 && byte < 0x80 && strchr("!#$%&'*+-.^_`|~", byte));
}

static bool is_token(struct http_slice slice)
{
    for (size_t i = 0; i < slice.len; i++)
        if (!http_is_token((uint8_t)slice.at[i]))
            return false;
    return slice.len > 0;
}

bool http_is(struct http_slice slice, const char *word)
{
    return slice.len == strlen(word) && (slice.len == 0 || strncasecmp(slice.at, word, slice.len) == 0);
}

/* A byte of a header's name as a careless server may see it. */
static char fold(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return (char)(byte + ('a' - 'A'));
    return byte == '_' || byte == '.' ? '-' : byte;
}

static bool same_folded(struct http_slice a, struct http_slice b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (fold(a.at[i]) != fold(b.at[i]))
            return false;
    return true;
}

bool http_is_folded(struct http_slice slice, const char *word)
{
    return same_folded(slice, (struct http_slice){word, strlen(word)});
}

bool http_is_hop_by_hop(const struct http_head *head, const struct http_field *field)
{
    static const char *const fixed[] = {"connection",
                                        "keep-alive",
                                        "proxy-connection",
                                        "proxy-authenticate",
                                        "proxy-authorization",
                                        "proxy-authentication-info",
                                        "te",
                                        "trailer",
                                        "upgrade",
                                        "http2-settings"};
    for (size_t i = 0; i < countof(fixed); i++)
        if (http_is_folded(field->name, fixed[i]))
            return true;
    for (size_t i = 0; i < head->named_count; i++)
        if (same_folded(field->name, head->named[i]))
            return true;
    return false;
}

static int refuse(struct http_head *head, enum guard_reason reason)
{
    head->reason = reason;
    return -1;
}

/* A byte of the first line. Its form is looked at when the head is whole. */
static enum guard_reason first_line_byte(const struct http_head *head, uint8_t byte)
{
    if (head->kind == HTTP_RESPONSE)
        return byte >= 0x20 || byte == '\t' ? GUARD_OK : GUARD_HTTP_CONTROL;
    return byte >= 0x20 && byte < 0x7f ? GUARD_OK : GUARD_HTTP_LINE;
}

static enum guard_reason field_byte(struct http_head *head, uint8_t byte)
{
    if (head->line_len == 0 && (byte == ' ' || byte == '\t'))
        return GUARD_HTTP_FOLD;
    if (head->colon)
        return GUARD_OK;
    head->colon = byte == ':';
    return http_is_token(byte) || (byte == ':' && head->line_len > 0) ? GUARD_OK : GUARD_HTTP_NAME;
}

/* One byte; *ret_whole when it ended the head. */
static enum guard_reason scan(struct http_head *head, uint8_t byte, bool *ret_whole)
{
    uint8_t before = head->last;
    head->last = byte;
    if ((byte == '\n') != (before == '\r'))
        return GUARD_HTTP_LINE_END;
    if (byte == '\r' || byte == '\n') {
        if (head->lines == 0 && head->line_len == 0)
            return GUARD_HTTP_LEADING;
        if (byte == '\r')
            return GUARD_OK;
        if (head->lines > 0 && head->line_len > 0 && !head->colon)
            return GUARD_HTTP_NAME;
        *ret_whole = head->line_len == 0;
        if (head->lines++ > HTTP_FIELDS_MAX && !*ret_whole)
            return GUARD_HTTP_TOO_MANY;
        head->line_len = 0;
        head->colon = false;
        return GUARD_OK;
    }
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
        return GUARD_HTTP_CONTROL;
    enum guard_reason reason = head->lines == 0 ? first_line_byte(head, byte) : field_byte(head, byte);
    head->line_len++;
    return reason;
}

/* Takes a line without its end off the front of the head. */
static struct http_slice next_line(const char **at)
{
    const char *end = strchr(*at, '\r');
    struct http_slice line = {*at, (size_t)(end - *at)};
    *at = end + 2;
    return line;
}

static bool starts_with(struct http_slice slice, const char *word)
{
    size_t len = strlen(word);
    return slice.len >= len && strncasecmp(slice.at, word, len) == 0;
}

static int read_version(struct http_head *head, struct http_slice version)
{
    if (version.len == 8 && memcmp(version.at, "HTTP/1.", 7) == 0 &&
        (version.at[7] == '0' || version.at[7] == '1')) {
        head->minor = version.at[7] - '0';
        return 0;
    }
    return refuse(head, starts_with(version, "HTTP/") ? GUARD_HTTP_VERSION : GUARD_HTTP_LINE);
}

static int read_target(struct http_head *head)
{
    struct http_slice target = head->target;
    if (http_is(head->method, "connect")) {
        head->form = HTTP_AUTHORITY;
        head->authority = target;
        return 0;
    }
    if (target.at[0] == '/' || http_is(target, "*")) {
        head->form = target.at[0] == '/' ? HTTP_ORIGIN : HTTP_ASTERISK;
        head->path = target;
        if (head->form == HTTP_ASTERISK &&
            !(head->method.len == 7 && memcmp(head->method.at, "OPTIONS", 7) == 0))
            return refuse(head, GUARD_HTTP_TARGET);
        return 0;
    }
    if (!starts_with(target, "http://"))
        return refuse(head, GUARD_HTTP_TARGET);
    head->form = HTTP_ABSOLUTE;
    const char *from = target.at + 7, *end = target.at + target.len, *at = from;
    while (at < end && *at != '/' && *at != '?')
        at++;
    head->authority = (struct http_slice){from, (size_t)(at - from)};
    head->path = (struct http_slice){at, (size_t)(end - at)};
    return head->authority.len > 0 ? 0 : refuse(head, GUARD_HTTP_TARGET);
}

static int read_request_line(struct http_head *head, struct http_slice line)
{
    const char *end = line.at + line.len;
    const char *first = memchr(line.at, ' ', line.len);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    if (!second || second == first + 1)
        return refuse(head, GUARD_HTTP_LINE);
    head->method = (struct http_slice){line.at, (size_t)(first - line.at)};
    head->target = (struct http_slice){first + 1, (size_t)(second - first - 1)};
    if (!is_token(head->method) || head->method.len > HTTP_METHOD_MAX)
        return refuse(head, GUARD_HTTP_LINE);
    if (read_version(head, (struct http_slice){second + 1, (size_t)(end - second - 1)}) < 0)
        return -1;
    return read_target(head);
}

static int read_status_line(struct http_head *head, struct http_slice line)
{
    if (line.len < 12 || line.at[8] != ' ' || (line.len > 12 && line.at[12] != ' '))
        return refuse(head, GUARD_HTTP_LINE);
    for (size_t i = 9; i < 12; i++) {
        if (line.at[i] < '0' || line.at[i] > '9')
            return refuse(head, GUARD_HTTP_LINE);
        head->status = head->status * 10 + (line.at[i] - '0');
    }
    if (head->status < 100 || head->status > 599)
        return refuse(head, GUARD_HTTP_LINE);
    return read_version(head, (struct http_slice){line.at, 8});
}

static struct http_slice trim(struct http_slice slice)
{
    while (slice.len > 0 && (slice.at[0] == ' ' || slice.at[0] == '\t')) {
        slice.at++;
        slice.len--;
    }
    while (slice.len > 0 && (slice.at[slice.len - 1] == ' ' || slice.at[slice.len - 1] == '\t'))
        slice.len--;
    return slice;
}

/* Fields that frame the message. Those that a careless server could take for them are refused in requests. */
static int read_framing(struct http_head *head, const struct http_field *field)
{
    bool is_length = http_is(field->name, "content-length");
    if (!is_length && !http_is(field->name, "transfer-encoding")) {
        bool alike =
            http_is_folded(field->name, "content-length") || http_is_folded(field->name, "transfer-encoding");
        return alike && head->kind == HTTP_REQUEST ? refuse(head, GUARD_HTTP_LOOKALIKE) : 0;
    }
    if (!is_length) {
        if (head->chunked || head->minor == 0 || !http_is(field->value, "chunked"))
            return refuse(head, GUARD_HTTP_ENCODING);
        head->chunked = true;
        return 0;
    }
    if (head->has_length || field->value.len == 0 || field->value.len > LENGTH_DIGITS_MAX)
        return refuse(head, GUARD_HTTP_LENGTH);
    head->has_length = true;
    for (size_t i = 0; i < field->value.len; i++) {
        char digit = field->value.at[i];
        if (digit < '0' || digit > '9')
            return refuse(head, GUARD_HTTP_LENGTH);
        head->length = head->length * 10 + (uint64_t)(digit - '0');
    }
    return 0;
}

/* The names in one Connection header. Nobody may have the framing removed by naming it. */
static int read_connection(struct http_head *head, struct http_slice value)
{
    const char *end = value.at + value.len;
    for (const char *at = value.at; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        struct http_slice name = trim((struct http_slice){at, (size_t)(stop - at)});
        at = stop + 1;
        if (name.len == 0)
            continue;
        if (!is_token(name) || head->named_count == HTTP_NAMED_MAX || http_is_folded(name, "host") ||
            http_is_folded(name, "content-length") || http_is_folded(name, "transfer-encoding"))
            return refuse(head, GUARD_HTTP_CONNECTION);
        head->named[head->named_count++] = name;
        head->close |= http_is(name, "close");
    }
    return 0;
}

/* Fields of requests only. */
static int read_request_field(struct http_head *head, const struct http_field *field)
{
    if (http_is(field->name, "host")) {
        if (head->host.at)
            return refuse(head, GUARD_HTTP_HOST_TWICE);
        head->host = field->value;
    } else if (http_is(field->name, "expect")) {
        if (head->expects || !http_is(field->value, "100-continue"))
            return refuse(head, GUARD_HTTP_EXPECT);
        head->expects = true;
    }
    return 0;
}

static int read_fields(struct http_head *head, const char *at)
{
    for (struct http_slice line = next_line(&at); line.len > 0; line = next_line(&at)) {
        const char *colon = memchr(line.at, ':', line.len);
        struct http_field *field = &head->fields[head->field_count++];
        field->name = (struct http_slice){line.at, (size_t)(colon - line.at)};
        field->value = trim((struct http_slice){colon + 1, (size_t)(line.at + line.len - colon - 1)});
        if (read_framing(head, field) < 0)
            return -1;
        if (http_is(field->name, "connection") && read_connection(head, field->value) < 0)
            return -1;
        if (head->kind == HTTP_REQUEST && read_request_field(head, field) < 0)
            return -1;
    }
    return 0;
}

/* The one Upgrade header, if Connection names it. */
static void find_upgrade(struct http_head *head)
{
    bool named = false;
    for (size_t i = 0; i < head->named_count; i++)
        named |= http_is(head->named[i], "upgrade");
    for (size_t i = 0, found = 0; named && i < head->field_count; i++) {
        if (!http_is(head->fields[i].name, "upgrade"))
            continue;
        head->upgrade = head->fields[i].value;
        if (found++)
            head->upgrade.len = 0;
    }
}

/* The head is whole: what it says. */
static int read_head(struct http_head *head)
{
    const char *at = (const char *)buf_data(&head->bytes);
    struct http_slice line = next_line(&at);
    if ((head->kind == HTTP_REQUEST ? read_request_line(head, line) : read_status_line(head, line)) < 0 ||
        read_fields(head, at) < 0)
        return -1;
    head->close |= head->minor == 0;
    find_upgrade(head);
    if (head->has_length && head->chunked)
        return refuse(head, GUARD_HTTP_LENGTH_CHUNKED);
    if (head->kind == HTTP_REQUEST && !head->host.at && head->form != HTTP_AUTHORITY)
        return refuse(head, GUARD_HTTP_HOST_MISSING);
    return 1;
}

int http_head_feed(struct http_head *head, const void *data, size_t len, size_t *ret_used)
{
    const uint8_t *bytes = data;
    size_t n = 0, room = buf_room(&head->bytes);
    bool whole = false;
    while (n < len && !whole) {
        enum guard_reason reason = n == room ? GUARD_HTTP_TOO_LONG : scan(head, bytes[n], &whole);
        if (reason != GUARD_OK)
            return refuse(head, reason);
        n++;
    }
    require(buf_append(&head->bytes, bytes, n, NULL) == 0);
    *ret_used = n;
    return whole ? read_head(head) : 0;
}

enum http_framing http_request_framing(const struct http_head *head)
{
    if (head->chunked)
        return HTTP_CHUNKED;
    return head->has_length ? HTTP_LENGTH : HTTP_NO_BODY;
}

enum http_framing http_response_framing(const struct http_head *head, bool to_head)
{
    if (to_head || head->status < 200 || head->status == 204 || head->status == 304)
        return HTTP_NO_BODY;
    if (head->chunked)
        return HTTP_CHUNKED;
    return head->has_length ? HTTP_LENGTH : HTTP_UNTIL_CLOSE;
}
