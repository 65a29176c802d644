#include "guard/reason.h"

#include "base/alloc.h"

#include <string.h>

static const struct {
    const char *name, *text;
    int status;
} reasons[] = {
#define X(name, wire, status, text) [GUARD_##name] = {wire, text, status},
#include "guard/reason.def"
#undef X
};

const char *guard_reason_name(enum guard_reason reason)
{
    require((unsigned)reason < GUARD_REASON_COUNT);
    return reasons[reason].name;
}

const char *guard_reason_text(enum guard_reason reason)
{
    require((unsigned)reason < GUARD_REASON_COUNT);
    return reasons[reason].text;
}

int guard_reason_status(enum guard_reason reason)
{
    require((unsigned)reason < GUARD_REASON_COUNT);
    return reasons[reason].status ? reasons[reason].status : 400;
}

/* The phrase of a status; only those of reason.def occur. */
static const char *phrase(int status)
{
    switch (status) {
    case 403:
        return "Forbidden";
    case 417:
        return "Expectation Failed";
    case 502:
        return "Bad Gateway";
    default:
        return "Bad Request";
    }
}

void guard_refusal(struct buf *out, enum guard_reason reason, const char *json, bool without_body)
{
    int status = guard_reason_status(reason);
    autofree char *standard = NULL;
    if (!json)
        json = standard = xasprintf("{\"reason\":\"%s\",\"message\":\"%s\"}\n", guard_reason_name(reason),
                                    guard_reason_text(reason));
    require(buf_printf(out, NULL,
                       "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                       "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                       status, phrase(status), strlen(json), without_body ? "" : json) == 0);
}
