#include "image/host.h"

#include "base/alloc.h"
#include "base/spawn.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHECK_TIMEOUT_MS 20000
#define CHECK_OUTPUT_MAX 4096

char *host_program(const char *name)
{
    const char *path = getenv("PATH");
    autofree char *all = xasprintf("%s:/usr/sbin:/sbin:/usr/local/sbin", path ? path : "/usr/bin:/bin");
    for (char *at = all, *save; (at = strtok_r(at, ":", &save)); at = NULL) {
        autofree char *program = xasprintf("%s/%s", at, name);
        if (*at == '/' && !access(program, X_OK))
            return steal(&program);
    }
    return NULL;
}

static int need(const char *name, const char *package, char **ret, struct error **err)
{
    *ret = host_program(name);
    if (*ret)
        return 0;
    error_set(err, ERROR_MISSING, "building an image needs the program \"%s\"", name);
    error_hint(err, "install the package %s (Debian's name: apt install %s)", package, package);
    return -ERROR_MISSING;
}

static void add(const char **words, const char *const *more)
{
    size_t count = 0;
    while (words[count])
        count++;
    for (size_t i = 0; more[i]; i++) {
        require(count + 1 < HOST_PREFIX_MAX);
        words[count++] = more[i];
    }
}

int host_init(struct host *host, struct error **err)
{
    *host = (struct host){0};
    char *apt = NULL, *map = NULL;
    int r = need("mmdebstrap", "mmdebstrap", &host->mmdebstrap, err);
    if (!r)
        r = need("apt-get", "apt", &apt, err);
    if (!r)
        r = need("mke2fs", "e2fsprogs", &host->mke2fs, err);
    if (!r)
        r = need("qemu-img", "qemu-utils", &host->qemu_img, err);
    if (!r)
        r = need("setpriv", "util-linux", &host->setpriv, err);
    if (!r)
        r = need("unshare", "util-linux", &host->unshare, err);
    if (!r)
        r = need("rm", "coreutils", &host->rm, err);
    if (!r && geteuid() != 0)
        r = need("newuidmap", "uidmap", &map, err);
    free(apt);
    free(map);
    if (r < 0) {
        host_finish(host);
        return r;
    }
    const char *const prefix[] = {host->setpriv, "--pdeathsig", "KILL", NULL};
    const char *const unshare[] = {host->unshare,  "--mount",      "--pid", "--fork",
                                   "--kill-child", "--mount-proc", NULL};
    const char *const user[] = {"--user", "--map-root-user", "--map-auto", NULL};
    add(host->prefix, prefix);
    add(host->confined, prefix);
    add(host->confined, unshare);
    if (geteuid() != 0)
        add(host->confined, user);
    return 0;
}

void host_finish(struct host *host)
{
    free(host->mmdebstrap);
    free(host->mke2fs);
    free(host->qemu_img);
    free(host->setpriv);
    free(host->unshare);
    free(host->rm);
    *host = (struct host){0};
}

int host_check(const struct host *host, struct error **err)
{
    const char *argv[HOST_PREFIX_MAX + 1] = {0};
    add(argv, host->confined);
    add(argv, (const char *const[]){"true", NULL});
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    auto(error) struct error *why = NULL;
    if (!spawn_run(&spawn, CHECK_TIMEOUT_MS, CHECK_OUTPUT_MAX, NULL, &why))
        return 0;
    const char *said = why->message;
    error_set(err, ERROR_MISSING, "an image cannot be built here: no namespaces (%s)", said);
    if (geteuid() == 0)
        error_hint(err, "root needs the right to mount (CAP_SYS_ADMIN): not to be had in most containers");
    else if (strstr(said, "map-auto"))
        error_hint(err, "util-linux 2.38 or newer is needed");
    else if (strstr(said, "subuid") || strstr(said, "subgid") || strstr(said, "newuidmap") ||
             strstr(said, "newgidmap") || strstr(said, "subordinate"))
        error_hint(err, "give this user a range of ids: sudo usermod --add-subuids 100000-165535 "
                        "--add-subgids 100000-165535 $USER");
    else
        error_hint(err, "user namespaces are off: sysctl kernel.unprivileged_userns_clone=1 "
                        "user.max_user_namespaces=15000 (Ubuntu: "
                        "kernel.apparmor_restrict_unprivileged_userns=0), or build as root");
    return -ERROR_MISSING;
}
