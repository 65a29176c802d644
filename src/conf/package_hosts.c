#include "conf/package_hosts.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* The next word of a line, of given characters, into a field; *line goes behind it and its one blank. */
static bool take_word(const char **line, const char *characters, char *field, size_t size)
{
    size_t len = strspn(*line, characters);
    const char *end = *line + len;
    if (!len || len >= size || (*end && *end != ' ') || (*end && !end[1]))
        return false;
    memcpy(field, *line, len);
    field[len] = '\0';
    *line = end + (*end == ' ');
    return true;
}

bool package_host_parse(const char *line, struct package_host *ret_host)
{
    struct package_host host = {0};
    char scheme[8], port[8];
    uint64_t number;
    if (!take_word(&line, LOWER DIGITS "-", host.preset, sizeof(host.preset)) ||
        !take_word(&line, LOWER, scheme, sizeof(scheme)) ||
        !take_word(&line, LOWER DIGITS ".-_", host.host, sizeof(host.host)) ||
        !take_word(&line, DIGITS, port, sizeof(port)) || *line ||
        units_parse_number(port, 1, UINT16_MAX, &number, NULL) < 0)
        return false;
    host.tls = !strcmp(scheme, "https");
    if ((!host.tls && strcmp(scheme, "http") != 0) || host.host[0] == '.' || host.host[0] == '-')
        return false;
    host.port = (uint16_t)number;
    *ret_host = host;
    return true;
}

bool package_hosts_have(const struct package_host *hosts, size_t count, const struct package_host *host)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(hosts[i].preset, host->preset) && hosts[i].tls == host->tls &&
            !strcmp(hosts[i].host, host->host) && hosts[i].port == host->port)
            return true;
    return false;
}

int package_hosts_parse(const char *text, struct package_host **ret_hosts, size_t *ret_count,
                        struct error **err)
{
    autofree struct package_host *hosts = xnewn(struct package_host, PACKAGE_HOSTS_MAX);
    size_t count = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        autofree char *line = xstrndup(text, len);
        struct package_host host;
        text += len + (text[len] == '\n');
        if (!*line)
            continue;
        if (!package_host_parse(line, &host)) {
            autofree char *safe = text_safe(line);
            return error_set(err, ERROR_INVALID, "\"%.200s\" is no host of packages", safe);
        }
        if (package_hosts_have(hosts, count, &host))
            continue;
        if (count == PACKAGE_HOSTS_MAX)
            return error_set(err, ERROR_LIMIT, "more than %d hosts of packages", PACKAGE_HOSTS_MAX);
        hosts[count++] = host;
    }
    *ret_hosts = steal(&hosts);
    *ret_count = count;
    return 0;
}

char *package_host_item(const struct package_host *host)
{
    bool said = host->port == (host->tls ? 443 : 80); /* the port says the protocol by itself */
    return xasprintf("%s:%u%s", host->host, host->port, said ? "" : host->tls ? " proto=tls" : " proto=http");
}
