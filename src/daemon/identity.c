/* What a machine is told about the place it is in: clock, names, time zone, locale, the user's git name; and
 * the size of its disk. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/units.h"
#include "daemon/machine.h"
#include "daemon/ops.h"

#include <string.h>
#include <unistd.h>

#define CALL_MS     60000 /* much, for an emulated machine on a busy host */
#define GROW_MS     120000
#define GIT_MS      3000
#define GIT_OUT_MAX 4096

/* The host's time zone from where /etc/localtime points; NULL if it says nothing. */
static char *host_timezone(void)
{
    char target[256];
    ssize_t len = readlink("/etc/localtime", target, sizeof(target) - 1);
    const char *name;

    if (len <= 0)
        return NULL;
    target[len] = '\0';
    name = strstr(target, "zoneinfo/");
    return name ? xstrdup(name + strlen("zoneinfo/")) : NULL;
}

static const char *host_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < countof(names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return value;
    }
    return NULL;
}

/* A value of the user's own git configuration, NULL if unset. */
static char *git_value(const char *key)
{
    const char *argv[] = {"git", "config", "--global", "--get", key, NULL};
    struct spawn spawn = {.argv = argv, .cwd = "/", .in = -1, .out = -1, .err = -1};
    char *out = NULL;

    if (spawn_run(&spawn, GIT_MS, GIT_OUT_MAX, &out, NULL) < 0)
        return NULL;
    out[strcspn(out, "\r\n")] = '\0';
    if (!out[0])
        free(steal(&out));
    return out;
}

static void set_text(json_t *object, const char *key, const char *value)
{
    json_t *text = value && *value ? json_string(value) : NULL; /* NULL if it is not UTF-8 */

    if (text)
        json_object_set_new(object, key, text);
}

/* One of the calls. A guest that refuses by its own state (it may not change these things where it is) still
 * runs: that is said. */
static int tell(struct work *work, const char *path, json_t *body, unsigned limit_ms, const char *what,
                struct error **err)
{
    auto(error) struct error *why = NULL;
    int rc = machine_call(work, GUEST_OP_PUT, path, body, limit_ms, NULL, &why);

    if (rc == 0)
        return 0;
    if (why->code == ERROR_STATE) {
        job_warn(work->job, "%s: %s", what, why->message);
        return 0;
    }
    error_prefix(&why, "the guest's %s", what);
    return error_move(err, &why);
}

int identity_set(struct work *work, struct error **err)
{
    autofree char *timezone = host_timezone(), *name = git_value("user.name"),
                  *mail = git_value("user.email");
    json_t *identity = json_object();
    auto(error) struct error *why = NULL;
    int rc;

    set_text(identity, "hostname", work->r.name);
    set_text(identity, "timezone", timezone);
    set_text(identity, "locale", host_locale());
    set_text(identity, "git_name", name);
    set_text(identity, "git_mail", mail);
    rc = tell(work, "/v1/clock", json_pack("{s:I}", "time_ns", (json_int_t)units_now_ns()), CALL_MS, "clock",
              err);
    if (rc < 0) {
        json_decref(identity);
        return rc;
    }
    rc = tell(work, "/v1/identity", identity, CALL_MS, "identity", err);
    if (rc < 0)
        return rc;
    /* A disk that does not grow is no reason to refuse a machine that runs. */
    rc = tell(work, "/v1/grow", NULL, GROW_MS, "disk", &why);
    if (rc < 0 && why->code == ERROR_CANCELLED)
        return error_move(err, &why);
    if (rc < 0)
        job_warn(work->job, "%s", why->message);
    return 0;
}
