#include "policy/host.h"

#include "base/alloc.h"
#include "base/text.h"
#include "policy/host_internal.h"

#include <stdio.h>
#include <string.h>

static const char reserved_suffix[] = "hutch.internal";

/* Refuses with the input quoted (the error makes it safe and short). */
static int refuse(struct error **err, const char *data, size_t len, const char *why)
{
    autofree char *part = xstrndup(data, len > 80 ? 80 : len);
    return error_set(err, ERROR_INVALID, "\"%s\" is no host: %s", part, why);
}

static bool is_digits(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (s[i] < '0' || s[i] > '9')
            return false;
    return len > 0;
}

void host_from_address(const struct address *address, struct host *ret_host)
{
    struct host host = {.address = *address};
    address_unmap(&host.address);
    host.kind = host.address.family == 4 ? HOST_IPV4 : HOST_IPV6;
    address_format(&host.address, host.text);
    host.len = strlen(host.text);
    *ret_host = host;
}

/* "[2001:db8::1]". inet_pton knows no zones, so a "%" is refused there. */
static int parse_brackets(const char *data, size_t len, struct host *ret_host, struct error **err)
{
    struct address address;
    if (len < 2 || data[len - 1] != ']')
        return refuse(err, data, len, "the \"]\" is missing");
    if (address_parse(data + 1, len - 2, &address, NULL) < 0 || address.family != 6)
        return refuse(err, data, len, "what stands in brackets is no IPv6 address");
    host_from_address(&address, ret_host);
    return 0;
}

static int check_bytes(const char *data, size_t len, struct error **err)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c == ':')
            return refuse(err, data, len, "an IPv6 address stands in brackets");
        if (c <= 0x20 || c == 0x7f)
            return refuse(err, data, len, "a blank or control character");
        if (c > 0x7f)
            return refuse(err, data, len, "a byte that is not ASCII");
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '-' &&
            c != '_' && c != '.')
            return refuse(err, data, len, "a character that names do not have");
    }
    return 0;
}

static int check_label(const struct host *host, const char *label, size_t len, struct error **err)
{
    if (!len)
        return refuse(err, host->text, host->len, "an empty label");
    if (len > HOST_LABEL_MAX)
        return refuse(err, host->text, host->len, "a label of more than 63 bytes");
    if (label[0] == '-' || label[len - 1] == '-')
        return refuse(err, host->text, host->len, "a label begins or ends with \"-\"");
    if (len >= 4 && !memcmp(label, "xn--", 4) && !host_idn_label_valid(label, len))
        return refuse(err, host->text, host->len, "an \"xn--\" label that encodes no name");
    return 0;
}

/* host->text is lower-case ASCII of the right characters: labels, and what looks like an address must be one.
 */
static int check_name(struct host *host, struct error **err)
{
    const char *label = host->text, *last;
    for (;;) {
        size_t len = strcspn(label, ".");
        if (check_label(host, label, len, err) < 0)
            return -ERROR_INVALID;
        host->label_count++;
        last = label;
        if (!label[len])
            break;
        label += len + 1;
    }
    if (!is_digits(last, strlen(last)) && strncmp(last, "0x", 2) != 0)
        return 0;
    struct address address;
    if (address_parse(host->text, host->len, &address, NULL) < 0)
        return refuse(err, host->text, host->len, "it ends like an address and is no dotted quad");
    host_from_address(&address, host);
    return 0;
}

static int parse_ascii(const char *data, size_t len, struct host *ret_host, struct error **err)
{
    struct host host = {.kind = HOST_NAME};
    if (check_bytes(data, len, err) < 0)
        return -ERROR_INVALID;
    if (len > 0 && data[len - 1] == '.')
        len--;
    if (!len)
        return refuse(err, data, len, "it is empty");
    if (len > HOST_TEXT_MAX)
        return refuse(err, data, len, "it has more than 253 bytes");
    for (size_t i = 0; i < len; i++)
        host.text[i] = (char)(data[i] >= 'A' && data[i] <= 'Z' ? data[i] + ('a' - 'A') : data[i]);
    host.len = len;
    if (check_name(&host, err) < 0)
        return -ERROR_INVALID;
    *ret_host = host;
    return 0;
}

int host_parse(const char *data, size_t len, enum host_mode mode, struct host *ret_host, struct error **err)
{
    if (len > HOST_INPUT_MAX)
        return refuse(err, data, len, "it is too long");
    if (len > 0 && data[0] == '[')
        return parse_brackets(data, len, ret_host, err);
    bool foreign = false;
    for (size_t i = 0; i < len; i++)
        foreign |= (unsigned char)data[i] > 0x7f;
    if (!foreign || mode == HOST_REQUEST)
        return parse_ascii(data, len, ret_host, err);
    if (memchr(data, '\0', len))
        return refuse(err, data, len, "a blank or control character");
    /* libidn2 maps look-alikes of "%", "." and digits to ASCII: what comes out is checked like any other. */
    autofree char *name = xstrndup(data, len), *ascii = NULL;
    if (host_idn_encode(name, &ascii, err) < 0)
        return -ERROR_INVALID;
    return parse_ascii(ascii, strlen(ascii), ret_host, err);
}

/* 1 to 65535 without a leading zero. */
static bool parse_port(const char *data, size_t len, uint16_t *ret_port)
{
    unsigned port = 0;
    if (len > 5 || !is_digits(data, len) || data[0] == '0')
        return false;
    for (size_t i = 0; i < len; i++)
        port = port * 10 + (unsigned)(data[i] - '0');
    *ret_port = (uint16_t)port;
    return port <= UINT16_MAX;
}

int host_parse_authority(const char *data, size_t len, uint16_t fallback, struct host *ret_host,
                         uint16_t *ret_port, struct error **err)
{
    uint16_t port = fallback;
    size_t end = len;
    const char *bracket = len > 0 && data[0] == '[' ? memchr(data, ']', len) : NULL;
    size_t from = bracket ? (size_t)(bracket - data) + 1 : 0;
    const char *colon = memchr(data + from, ':', len - from);
    if (colon) {
        end = (size_t)(colon - data);
        if (memchr(colon + 1, ':', len - end - 1))
            return refuse(err, data, len, "more than one colon: an IPv6 address stands in brackets");
        if (!parse_port(colon + 1, len - end - 1, &port))
            return refuse(err, data, len, "a port is 1 to 65535");
    }
    if (!port)
        return refuse(err, data, len, "the port is missing");
    struct host host;
    if (host_parse(data, end, HOST_REQUEST, &host, err) < 0)
        return -ERROR_INVALID;
    *ret_host = host;
    *ret_port = port;
    return 0;
}

bool host_equal(const struct host *a, const struct host *b)
{
    return a->kind == b->kind && a->len == b->len && !memcmp(a->text, b->text, a->len);
}

bool host_below(const struct host *host, const char *suffix, unsigned *ret_labels)
{
    size_t len = strlen(suffix);
    if (host->kind != HOST_NAME || host->len < len + 2 || host->text[host->len - len - 1] != '.' ||
        memcmp(host->text + host->len - len, suffix, len) != 0)
        return false;
    unsigned labels = 1;
    for (size_t i = 0; i < host->len - len - 1; i++)
        labels += host->text[i] == '.';
    if (ret_labels)
        *ret_labels = labels;
    return true;
}

char *host_format(const struct host *host, uint16_t port, char ret[HOST_FORMAT_MAX])
{
    bool brackets = host->kind == HOST_IPV6;
    int used = snprintf(ret, HOST_FORMAT_MAX, "%s%s%s", brackets ? "[" : "", host->text, brackets ? "]" : "");
    if (port)
        snprintf(ret + used, (size_t)(HOST_FORMAT_MAX - used), ":%u", port);
    return ret;
}

bool host_is_floor(const struct host *host)
{
    static const char *const names[] = {"localhost", "metadata", "metadata.google.internal", "instance-data"};
    if (host->kind != HOST_NAME)
        return false;
    for (size_t i = 0; i < countof(names); i++)
        if (!strcmp(host->text, names[i]))
            return true;
    return host_below(host, "localhost", NULL);
}

bool host_is_reserved(const struct host *host, char ret_name[HOST_LABEL_MAX + 1])
{
    unsigned labels = 0;
    if (host->kind != HOST_NAME)
        return false;
    if (ret_name)
        ret_name[0] = '\0';
    if (!strcmp(host->text, reserved_suffix))
        return true;
    if (!host_below(host, reserved_suffix, &labels))
        return false;
    if (ret_name && labels == 1)
        snprintf(ret_name, HOST_LABEL_MAX + 1, "%.*s", (int)strcspn(host->text, "."), host->text);
    return true;
}
