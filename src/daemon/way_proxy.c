/* How connections leave this host: [network] of the user's hutch.ini, or his environment. */
#include "base/alloc.h"
#include "base/file.h"
#include "conf/ini.h"
#include "daemon/way_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The lower-case one counts first, as with curl. NULL: neither is set. */
static const char *of_environment(const char *lower, const char *upper)
{
    const char *value = getenv(lower);

    if (!value || !*value)
        value = getenv(upper);
    return value && *value ? value : NULL;
}

/* A password that everybody on this host can read is none. */
static int check_private(const char *path, struct error **err)
{
    struct stat st;

    if (stat(path, &st) < 0 || !(st.st_mode & 077))
        return 0;
    error_set(err, ERROR_INVALID, "\"%s\" has the proxy's password, and others can read it", path);
    return error_hint(err, "chmod 600 %s", path);
}

int way_proxy(struct daemon *daemon, struct proxy **ret_proxy, struct error **err)
{
    autofree char *path = file_join(daemon->paths->config, "hutch.ini");
    auto(ini) struct ini *ini = NULL;
    int rc = file_exists(path) ? ini_load(path, KEY_USER, &ini, err) : 0;
    const char *value = rc == 0 && ini ? ini_value(ini, "network", "proxy", "none") : "none";
    const char *except = rc == 0 && ini ? ini_value(ini, "network", "no-proxy", "") : "";

    if (rc < 0 || !strcmp(value, "none"))
        return rc;
    if (!*except)
        except = of_environment("no_proxy", "NO_PROXY");
    if (!strcmp(value, "env")) {
        value = of_environment("https_proxy", "HTTPS_PROXY");
        return value ? proxy_parse(value, except, ret_proxy, err) : 0;
    }
    rc = proxy_parse(value, except, ret_proxy, err);
    if (rc == 0 && (*ret_proxy)->authorization[0] && (rc = check_private(path, err)) < 0)
        proxy_destroy(steal(ret_proxy));
    return rc;
}
