#include "guard/socks.h"

#include "base/alloc.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define SOCKS_5         5
#define METHOD_NONE     0
#define METHOD_REFUSED  0xff
#define COMMAND_CONNECT 1

enum address_type { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };
enum socks_state { SOCKS_VERSION, SOCKS_METHODS, SOCKS_HEAD, SOCKS_NAME_LEN, SOCKS_ADDRESS, SOCKS_OVER };

void socks_init(struct socks *socks)
{
    *socks = (struct socks){.state = SOCKS_VERSION, .need = 2};
}

static void put(struct buf *out, const void *data, size_t len)
{
    require(buf_append(out, data, len, NULL) == 0);
}

void socks_reply(enum socks_code code, struct buf *out)
{
    const uint8_t reply[] = {SOCKS_5, (uint8_t)code, 0, ADDRESS_IPV4, 0, 0, 0, 0, 0, 0};
    put(out, reply, sizeof(reply));
}

static int refuse(struct socks *socks, enum guard_reason reason)
{
    socks->reason = reason;
    socks->state = SOCKS_OVER;
    return SOCKS_REFUSED;
}

/* The same, said in a reply. */
static int refuse_with(struct socks *socks, enum guard_reason reason, enum socks_code code, struct buf *out)
{
    socks_reply(code, out);
    return refuse(socks, reason);
}

static int expect(struct socks *socks, enum socks_state state, size_t more)
{
    socks->state = state;
    socks->need = socks->have + more;
    return SOCKS_MORE;
}

static int take_methods(struct socks *socks, struct buf *out)
{
    bool none = memchr(socks->bytes + 2, METHOD_NONE, socks->have - 2) != NULL;
    put(out, (const uint8_t[]){SOCKS_5, none ? METHOD_NONE : METHOD_REFUSED}, 2);
    if (!none)
        return refuse(socks, GUARD_SOCKS_METHOD);
    socks->have = 0;
    return expect(socks, SOCKS_HEAD, 4);
}

static int take_head(struct socks *socks, struct buf *out)
{
    const uint8_t *b = socks->bytes;
    if (b[0] != SOCKS_5 || b[2] != 0)
        return refuse_with(socks, GUARD_SOCKS_MALFORMED, SOCKS_FAILED, out);
    if (b[1] != COMMAND_CONNECT)
        return refuse_with(socks, GUARD_SOCKS_COMMAND, SOCKS_NO_COMMAND, out);
    switch (b[3]) {
    case ADDRESS_IPV4:
        return expect(socks, SOCKS_ADDRESS, 4 + 2);
    case ADDRESS_IPV6:
        return expect(socks, SOCKS_ADDRESS, 16 + 2);
    case ADDRESS_NAME:
        return expect(socks, SOCKS_NAME_LEN, 1);
    default:
        return refuse_with(socks, GUARD_SOCKS_ADDRESS, SOCKS_NO_ADDRESS, out);
    }
}

/* A name is passed on only as text that cannot mean anything else; the rest is for the canonical-host
 * function. */
static bool take_name(struct socks *socks, const uint8_t *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] <= 0x20 || name[i] >= 0x7f)
            return false;
    memcpy(socks->host, name, len);
    socks->host[len] = 0;
    return len > 0;
}

static int take_address(struct socks *socks, struct buf *out)
{
    const uint8_t *b = socks->bytes, *port = b + socks->have - 2;
    char text[INET6_ADDRSTRLEN];
    socks->port = (uint16_t)(port[0] << 8 | port[1]);
    if (socks->port == 0 || (b[3] == ADDRESS_NAME && !take_name(socks, b + 5, b[4])))
        return refuse_with(socks, GUARD_SOCKS_MALFORMED, SOCKS_FAILED, out);
    if (b[3] != ADDRESS_NAME) {
        bool six = b[3] == ADDRESS_IPV6;
        require(inet_ntop(six ? AF_INET6 : AF_INET, b + 4, text, sizeof(text)));
        snprintf(socks->host, sizeof(socks->host), six ? "[%s]" : "%s", text);
        socks->literal = true;
    }
    socks->state = SOCKS_OVER;
    return SOCKS_REQUEST;
}

/* The bytes that were needed are there. */
static int take_part(struct socks *socks, struct buf *out)
{
    switch ((enum socks_state)socks->state) {
    case SOCKS_VERSION:
        return expect(socks, SOCKS_METHODS, socks->bytes[1]);
    case SOCKS_METHODS:
        return take_methods(socks, out);
    case SOCKS_HEAD:
        return take_head(socks, out);
    case SOCKS_NAME_LEN:
        return expect(socks, SOCKS_ADDRESS, (size_t)socks->bytes[4] + 2);
    case SOCKS_ADDRESS:
        return take_address(socks, out);
    case SOCKS_OVER:
        break;
    }
    require(socks->state != SOCKS_OVER);
    return SOCKS_REFUSED;
}

enum socks_result socks_feed(struct socks *socks, const void *data, size_t len, size_t *ret_used,
                             struct buf *out)
{
    const uint8_t *bytes = data;
    size_t used = 0;
    int result = SOCKS_MORE;
    require(socks->state != SOCKS_OVER);
    while (result == SOCKS_MORE && used < len) {
        socks->bytes[socks->have++] = bytes[used++];
        if (socks->state == SOCKS_VERSION && socks->bytes[0] != SOCKS_5)
            result = refuse(socks, GUARD_SOCKS_VERSION);
        /* A part may need nothing more: no methods. */
        while (result == SOCKS_MORE && socks->have == socks->need)
            result = take_part(socks, out);
    }
    *ret_used = result == SOCKS_REQUEST ? used : len;
    return (enum socks_result)result;
}
