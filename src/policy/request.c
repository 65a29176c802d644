#include "policy/request.h"

#include <stdio.h>

int request_parse(const char *authority, size_t len, uint16_t fallback, struct request *ret_request,
                  struct error **err)
{
    struct request request = {0};
    int r = host_parse_authority(authority, len, fallback, &request.host, &request.port, err);
    if (!r)
        *ret_request = request;
    return r;
}

/* Writes the rule without options behind proto. */
static int write_rule(const struct request *request, char ret[REQUEST_RULE_MAX])
{
    char host[HOST_FORMAT_MAX];
    enum proto usual = proto_of_port(request->port);
    enum proto proto = request->proto == PROTO_ANY ? usual : request->proto;
    bool plain = request->host.kind == HOST_NAME && request->port == 443;
    int used = snprintf(ret, REQUEST_RULE_MAX, "allow %s",
                        host_format(&request->host, plain ? 0 : request->port, host));
    if (proto != usual || proto == PROTO_TCP)
        used += snprintf(ret + used, (size_t)(REQUEST_RULE_MAX - used), " proto=%s", proto_name(proto));
    return used;
}

/* An address of a private range needs the second half of the rule too. */
static void write_private(const struct address *address, int used, char ret[REQUEST_RULE_MAX])
{
    char range[CIDR_FORMAT_MAX];
    struct cidr cidr = {*address, 0};
    address_unmap(&cidr.base);
    cidr.length = cidr.base.family == 4 ? 32 : 128;
    snprintf(ret + used, (size_t)(REQUEST_RULE_MAX - used), " private=%s", cidr_format(&cidr, range));
}

char *request_missing(const struct request *request, char ret[REQUEST_RULE_MAX])
{
    int used = write_rule(request, ret);
    if (request->host.kind != HOST_NAME &&
        address_check(&request->host.address, NULL, 0, NULL, 0, NULL) == ADDRESS_PRIVATE)
        write_private(&request->host.address, used, ret);
    return ret;
}

char *request_missing_private(const struct request *request, const struct address *address,
                              char ret[REQUEST_RULE_MAX])
{
    write_private(address, write_rule(request, ret), ret);
    return ret;
}
