#include "wire/h2_internal.h"

#include "base/alloc.h"

#include <string.h>

#define PREFACE_SIZE 24

enum frame_type {
    FRAME_DATA,
    FRAME_HEADERS,
    FRAME_PRIORITY,
    FRAME_RST_STREAM,
    FRAME_SETTINGS,
    FRAME_PUSH_PROMISE,
    FRAME_PING,
    FRAME_GOAWAY,
    FRAME_WINDOW_UPDATE,
    FRAME_CONTINUATION,
};

#define FLAG_ACK         0x1
#define FLAG_END_HEADERS 0x4

void h2_gate_init(struct h2_gate *gate, enum h2_role role)
{
    *gate = (struct h2_gate){.preface_left = role == H2_SERVER ? PREFACE_SIZE : 0};
}

/* Whether a payload of this length is possible for the type; unknown types may have any. */
static bool length_fits(uint8_t type, uint8_t flags, uint32_t length)
{
    switch (type) {
    case FRAME_PRIORITY:
        return length == 5;
    case FRAME_RST_STREAM:
    case FRAME_WINDOW_UPDATE:
        return length == 4;
    case FRAME_SETTINGS:
        return length % 6 == 0 && (length == 0 || !(flags & FLAG_ACK));
    case FRAME_PING:
        return length == 8;
    case FRAME_GOAWAY:
        return length >= 8;
    default:
        return true;
    }
}

/* Judges a complete frame header. */
static int check_head(struct h2_gate *gate, uint32_t *ret_code, struct error **err)
{
    const uint8_t *h = gate->head;
    uint32_t length = (uint32_t)h[0] << 16 | (uint32_t)h[1] << 8 | h[2];
    uint8_t type = h[3];
    uint8_t flags = h[4];

    *ret_code = NGHTTP2_FRAME_SIZE_ERROR;
    if (length > H2_FRAME_MAX || !length_fits(type, flags, length))
        return error_set(err, ERROR_PROTOCOL, "HTTP/2: a frame of type %u has %u bytes", type, length);

    *ret_code = NGHTTP2_PROTOCOL_ERROR;
    if (type == FRAME_PUSH_PROMISE)
        return error_set(err, ERROR_PROTOCOL, "HTTP/2: the peer sent a PUSH_PROMISE");
    if (gate->in_block != (type == FRAME_CONTINUATION))
        return error_set(err, ERROR_PROTOCOL, "HTTP/2: a header block was broken by a frame of type %u",
                         type);

    if (type == FRAME_CONTINUATION && ++gate->continuations > H2_CONTINUATIONS_MAX) {
        *ret_code = NGHTTP2_ENHANCE_YOUR_CALM;
        return error_set(err, ERROR_LIMIT, "HTTP/2: more than %d CONTINUATION frames in one header block",
                         H2_CONTINUATIONS_MAX);
    }
    if (type == FRAME_HEADERS)
        gate->continuations = 0;
    if (type == FRAME_HEADERS || type == FRAME_CONTINUATION)
        gate->in_block = !(flags & FLAG_END_HEADERS);
    gate->left = length;
    return 0;
}

int h2_gate_next(struct h2_gate *gate, const uint8_t *data, size_t len, const uint8_t **ret_piece,
                 size_t *ret_piece_len, size_t *ret_used, uint32_t *ret_code, struct error **err)
{
    size_t body = gate->preface_left ? gate->preface_left : gate->left;
    if (body > 0) {
        size_t n = body < len ? body : len;
        if (gate->preface_left)
            gate->preface_left -= n;
        else
            gate->left -= (uint32_t)n;
        *ret_piece = data;
        *ret_piece_len = n;
        *ret_used = n;
        return 0;
    }

    size_t n = sizeof(gate->head) - gate->head_len;
    if (n > len)
        n = len;
    memcpy(gate->head + gate->head_len, data, n);
    gate->head_len += n;
    *ret_used = n;
    *ret_piece = gate->head;
    *ret_piece_len = 0;
    if (gate->head_len < sizeof(gate->head))
        return 0;
    gate->head_len = 0;
    *ret_piece_len = sizeof(gate->head);
    return check_head(gate, ret_code, err);
}

bool h2_limiter_hit(struct h2_limiter *limiter, uint64_t now_ms)
{
    bool full = limiter->count == H2_STREAM_ERRORS_MAX;
    limiter->times[limiter->next] = now_ms;
    limiter->next = (limiter->next + 1) % H2_STREAM_ERRORS_MAX;
    if (!full)
        limiter->count++;
    /* When full the slot after the newest is the oldest. */
    return limiter->count == H2_STREAM_ERRORS_MAX &&
           now_ms - limiter->times[limiter->next] < H2_STREAM_ERRORS_MS;
}

bool h2_head_add(struct h2_head_builder **slot, const uint8_t *name, size_t name_len, const uint8_t *value,
                 size_t value_len)
{
    struct h2_head_builder *b = *slot;
    size_t counted = (b ? b->counted : 0) + H2_FIELD_OVERHEAD;
    if (name_len > H2_HEADER_LIST_MAX || value_len > H2_HEADER_LIST_MAX ||
        counted + name_len + value_len > H2_HEADER_LIST_MAX)
        return false;
    if (!b) {
        b = *slot = xnew(struct h2_head_builder);
        b->text = xnewn(char, H2_HEADER_LIST_MAX);
    }
    b->counted = counted + name_len + value_len;

    /* Two NULs are fewer than the overhead that each field counts, so the text never overruns. */
    size_t name_at = b->text_len;
    size_t value_at = name_at + name_len + 1;
    memcpy(b->text + name_at, name, name_len);
    memcpy(b->text + value_at, value, value_len);
    b->text_len = value_at + value_len + 1;

    const char *key = b->text + name_at;
    if (strcmp(key, ":method") == 0) {
        b->method = value_at + 1;
    } else if (strcmp(key, ":path") == 0) {
        b->path = value_at + 1;
    } else if (strcmp(key, ":authority") == 0) {
        b->authority = value_at + 1;
    } else if (strcmp(key, ":status") == 0) {
        b->status = value_at + 1;
    } else if (key[0] != ':') {
        b->fields[b->field_count].name = name_at;
        b->fields[b->field_count].value = value_at;
        b->field_count++;
    }
    return true;
}

void h2_head_builder_free(struct h2_head_builder *builder)
{
    if (!builder)
        return;
    free(builder->text);
    free(builder);
}

void h2_head_fill(const struct h2_head_builder *builder, struct h2_field *fields, struct h2_head *ret_head)
{
    *ret_head = (struct h2_head){.fields = fields};
    if (!builder)
        return;
    const char *text = builder->text;
    ret_head->method = builder->method ? text + builder->method - 1 : NULL;
    ret_head->path = builder->path ? text + builder->path - 1 : NULL;
    ret_head->authority = builder->authority ? text + builder->authority - 1 : NULL;
    ret_head->status = builder->status ? (int)strtol(text + builder->status - 1, NULL, 10) : 0;
    for (size_t i = 0; i < builder->field_count; i++) {
        fields[i].name = text + builder->fields[i].name;
        fields[i].value = text + builder->fields[i].value;
    }
    ret_head->field_count = builder->field_count;
}

const char *h2_head_field(const struct h2_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (strcmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}

/* host:port with a port of 1 to 65535; what the host may be is the judge's business. */
static bool authority_has_port(const char *authority)
{
    const char *colon = strrchr(authority, ':');
    if (!colon || colon == authority)
        return false;
    unsigned port = 0;
    size_t digits = 0;
    for (const char *p = colon + 1; *p; p++, digits++) {
        if (*p < '0' || *p > '9' || digits == 5)
            return false;
        port = port * 10 + (unsigned)(*p - '0');
    }
    return digits > 0 && port > 0 && port <= 65535;
}

static bool field_allowed(const char *name, const char *const *allowed)
{
    for (size_t i = 0; allowed && allowed[i]; i++)
        if (strcmp(name, allowed[i]) == 0)
            return true;
    return false;
}

bool h2_head_valid_request(const struct h2_head *head, const struct h2_options *options)
{
    if (!head->method || !*head->method)
        return false;
    if (strcmp(head->method, "CONNECT") != 0)
        return !options->connect_only && head->path && (head->path[0] == '/' || strcmp(head->path, "*") == 0);

    if (head->path || !head->authority || !authority_has_port(head->authority))
        return false;
    for (size_t i = 0; options->connect_only && i < head->field_count; i++)
        if (!field_allowed(head->fields[i].name, options->connect_fields))
            return false;
    return true;
}
