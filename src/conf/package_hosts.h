/* package_hosts.h: where a machine's package tools fetch from, as they say themselves (the recipe's program
 * package-hosts): a line each, "PRESET SCHEME HOST PORT", such as "debian http deb.debian.org 80". Kept in a
 * base's base.ini under [packages PRESET], and asked of each machine that has started. */
#ifndef HUTCH_CONF_PACKAGE_HOSTS_H
#define HUTCH_CONF_PACKAGE_HOSTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKAGE_HOSTS_MAX  64 /* of one machine, all its presets together */
#define PACKAGE_PRESET_MAX 32
#define PACKAGE_NAME_MAX   254

struct package_host {
    char preset[PACKAGE_PRESET_MAX]; /* "debian", "node", … */
    bool tls;                        /* https */
    char host[PACKAGE_NAME_MAX];     /* letters of lower case, digits, '.', '-', '_' */
    uint16_t port;
};

/* Reads one line (without its end). false: it is none; *ret_host is untouched. */
bool package_host_parse(const char *line, struct package_host *ret_host);
/* Reads a whole output; hosts that stand there twice are taken once. ERROR_INVALID names the line that is
 * none, ERROR_LIMIT: more than PACKAGE_HOSTS_MAX. The caller frees *ret_hosts. */
int package_hosts_parse(const char *text, struct package_host **ret_hosts, size_t *ret_count,
                        struct error **err);
/* Is the host in a list? The same preset, scheme, name and port. */
bool package_hosts_have(const struct package_host *hosts, size_t count, const struct package_host *host);
/* The item of a rule: "deb.debian.org:80", "mirror.test:3142 proto=http". The caller frees. */
char *package_host_item(const struct package_host *host);

#endif
