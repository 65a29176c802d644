#include "guest/net_environment.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/user.h"

#include <stdlib.h>
#include <string.h>

#define NO_PROXY "localhost,127.0.0.1,::1,.hutch.internal"

static const char motd[] = "This machine has no network card. There is no ping, UDP, NTP or raw DNS, by\n"
                           "design; TCP goes where the rules of its project allow.\n"
                           "What was refused, and why: %s/denials.\n"
                           "`hutch-guest wait N` waits for the answer to request N;\n"
                           "HUTCH_REASON='why' before a command is shown to who is asked.\n";

/* Everything works by capture as well; with these a refusal comes with its reason. ALL_PROXY is HTTP too:
 * with a SOCKS address in it Python's httpx, and what is built on it, does not even start without a package
 * of its own. */
static const struct {
    const char *key, *format;
} variables[] = {
    {"HTTP_PROXY", "http://%s"},  {"http_proxy", "http://%s"}, {"HTTPS_PROXY", "http://%s"},
    {"https_proxy", "http://%s"}, {"ALL_PROXY", "http://%s"},  {"all_proxy", "http://%s"},
    {"NO_PROXY", NO_PROXY},       {"no_proxy", NO_PROXY},
};

static char *value_of(size_t i, const char *proxy)
{
    const char *at = strstr(variables[i].format, "%s");

    if (!at)
        return xstrdup(variables[i].format);
    return xasprintf("%.*s%s", (int)(at - variables[i].format), variables[i].format, proxy);
}

static bool has(char **environment, const char *key)
{
    size_t len = strlen(key);

    for (; *environment; environment++)
        if (!strncmp(*environment, key, len) && (*environment)[len] == '=')
            return true;
    return false;
}

void net_environment_add(char ***environment)
{
    const char *proxy = getenv(NET_PROXY_KEY);

    if (!proxy)
        return;
    for (size_t i = 0; i < countof(variables); i++) {
        autofree char *value = value_of(i, proxy);
        if (!has(*environment, variables[i].key))
            user_set_environment(environment, variables[i].key, value);
    }
    user_set_environment(environment, "HUTCH_NETWORK",
                         "no ping, UDP, NTP or raw DNS by design; what was refused is in /run/hutch/denials; "
                         "HUTCH_REASON=why before a command is shown to the person who is asked");
}

static void write_file(const char *run, const char *name, const char *text, size_t len)
{
    auto(error) struct error *err = NULL;
    autofree char *path = file_join(run, name);

    if (file_replace(path, text, len, 0644, &err))
        log_warning("%s", err->message);
}

void net_environment_write(const char *run)
{
    const char *proxy = getenv(NET_PROXY_KEY);
    autofree char *message = xasprintf(motd, run);
    struct buf text;

    if (!proxy)
        return;
    buf_init(&text, 0);
    buf_printf(&text, NULL, "# By hutch-guest, for login shells.\n");
    for (size_t i = 0; i < countof(variables); i++) {
        autofree char *value = value_of(i, proxy);
        buf_printf(&text, NULL, "export %s=\"${%s:-%s}\"\n", variables[i].key, variables[i].key, value);
    }
    write_file(run, "environment", (const char *)buf_data(&text), text.len);
    write_file(run, "motd", message, strlen(message));
    buf_finish(&text);
}
