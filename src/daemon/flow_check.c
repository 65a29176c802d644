/* The messages of worker/flow_proto.h that a worker may send, held against their form. */
#include "daemon/guest_check.h"
#include "worker/flow_proto.h"

#include <string.h>

#define TERMINATED(field) (memchr((field), '\0', sizeof(field)) != NULL)

/* Words separated by NUL, two NULs at their end, argc of them. */
static bool check_argv(const struct flow_claim *claim)
{
    const char *at = claim->argv, *end = claim->argv + sizeof(claim->argv);

    for (uint32_t i = 0; i < claim->argc; i++) {
        const char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

        if (!nul)
            return false;
        at = nul + 1;
    }
    return at < end && *at == '\0';
}

static bool check_ask(const struct wmsg_flow_ask *m)
{
    const struct flow_claim *claim = &m->claim;

    return m->flow != 0 && m->entrance < FLOW_ENTRANCE_COUNT && TERMINATED(m->authority) &&
           claim->known <= 1 && claim->cut <= 1 && TERMINATED(claim->exe) && TERMINATED(claim->cwd) &&
           TERMINATED(claim->session) && TERMINATED(claim->says) && check_argv(claim);
}

static bool check_ready(const struct wmsg_flow_ready *m)
{
    bool good =
        m->ech <= 1 && m->tls_version <= 0xffff && m->alpn_count <= FLOW_ALPN_MAX && TERMINATED(m->sni);

    for (uint32_t i = 0; good && i < m->alpn_count; i++)
        good = TERMINATED(m->alpn[i]);
    return good;
}

bool guest_check_flow(const void *data, size_t len)
{
    uint32_t type;

    if (len < sizeof(type))
        return false;
    memcpy(&type, data, sizeof(type));
    switch (type) {
    case WMSG_FLOW_ASK:
        return len == sizeof(struct wmsg_flow_ask) && check_ask(data);
    case WMSG_FLOW_READY:
        return len == sizeof(struct wmsg_flow_ready) && check_ready(data);
    case WMSG_FLOW_REQUEST: {
        const struct wmsg_flow_request *m = data;
        return len == sizeof(*m) && m->number > 0 && m->method[0] && TERMINATED(m->method) &&
               m->path[0] == '/' && TERMINATED(m->path);
    }
    case WMSG_FLOW_RESPONSE: {
        const struct wmsg_flow_response *m = data;
        return len == sizeof(*m) && m->number > 0 && m->status >= 100 && m->status <= 999;
    }
    case WMSG_FLOW_NEED:
        return len == sizeof(struct wmsg_flow_need);
    case WMSG_FLOW_STAT:
        return len == sizeof(struct wmsg_flow_stat);
    case WMSG_FLOW_END: {
        const struct wmsg_flow_end *m = data;
        return len == sizeof(*m) && m->end < FLOW_END_COUNT && TERMINATED(m->reason);
    }
    default:
        return false;
    }
}
