/* identity.c: whose machine this is: name, time zone, locale, and who commits. Each part that is given is
 * set; a part that the system has no place for (no git, an unknown time zone) is skipped and said in the log,
 * never an error of the start. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/api.h"
#include "guest/run.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOSTNAME_MAX 63
#define ZONE_MAX     128
#define LOCALE_MAX   64
#define GIT_TEXT_MAX 256
#define HOSTS_MAX    (1024 * 1024)
#define OWN_ADDRESS  "127.0.1.1"

struct identity {
    const struct place *place;
    const char *hostname, *timezone, *locale, *git_name, *git_mail; /* or NULL */
};

static char *under_root(const struct identity *id, const char *path)
{
    return xasprintf("%s%s", id->place->root, path);
}

static bool word_valid(const char *s, const char *more)
{
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(more, *p))
            return false;
    return *s && *s != '-' && *s != '.';
}

static int write_line(const struct identity *id, const char *path, const char *line, struct error **err)
{
    autofree char *full = under_root(id, path), *text = xasprintf("%s\n", line);
    return file_replace(full, text, strlen(text), 0644, err);
}

/* The name's own line in /etc/hosts: the first with our address is replaced, else one is added. */
static int set_hosts(const struct identity *id, struct error **err)
{
    autofree char *path = under_root(id, "/etc/hosts");
    autofree char *data = NULL;
    struct buf out;
    bool done = false;
    int rc = 0;

    if (file_read(path, HOSTS_MAX, &data, NULL, NULL))
        data = xstrdup("127.0.0.1\tlocalhost\n::1\tlocalhost\n");
    buf_init(&out, 2 * HOSTS_MAX);
    char *cursor = data, *line;
    while (!rc && (line = strsep(&cursor, "\n"))) {
        bool ours = !strncmp(line, OWN_ADDRESS, strlen(OWN_ADDRESS)) &&
                    isspace((unsigned char)line[strlen(OWN_ADDRESS)]);
        if (ours && done)
            continue;
        if (ours)
            rc = buf_printf(&out, err, OWN_ADDRESS "\t%s\n", id->hostname);
        else if (*line || cursor)
            rc = buf_printf(&out, err, "%s\n", line);
        done = done || ours;
    }
    if (!rc && !done)
        rc = buf_printf(&out, err, OWN_ADDRESS "\t%s\n", id->hostname);
    if (!rc)
        rc = file_replace(path, buf_data(&out), out.len, 0644, err);
    buf_finish(&out);
    return rc;
}

static int set_hostname(const struct identity *id, struct error **err)
{
    if (!word_valid(id->hostname, "-."))
        return error_set(err, ERROR_INVALID, "'%s' cannot be a host name", id->hostname);
    if (id->place->machine && sethostname(id->hostname, strlen(id->hostname)))
        return error_set_errno(err, errno, "cannot set the host name");
    int rc = write_line(id, "/etc/hostname", id->hostname, err);
    return rc ? rc : set_hosts(id, err);
}

static int set_timezone(const struct identity *id, struct error **err)
{
    autofree char *zone = xasprintf("/usr/share/zoneinfo/%s", id->timezone);
    autofree char *file = under_root(id, zone), *link = under_root(id, "/etc/localtime");
    autofree char *temporary = xasprintf("%s.hutch-new", link);

    if (!word_valid(id->timezone, "/_+-") || strstr(id->timezone, ".."))
        return error_set(err, ERROR_INVALID, "'%s' cannot be a time zone", id->timezone);
    if (!file_exists(file)) {
        log_info("the machine does not know the time zone %s", id->timezone);
        return 0;
    }
    unlink(temporary);
    if (symlink(zone, temporary) || rename(temporary, link))
        return error_set_errno(err, errno, "cannot set '%s'", link);
    return write_line(id, "/etc/timezone", id->timezone, err);
}

/* "en_US.UTF-8" and "en_US.utf8" are the same. */
static char *plain_locale(const char *s)
{
    char *out = xstrdup(s), *to = out;
    for (; *s; s++)
        if (*s != '-')
            *to++ = (char)tolower((unsigned char)*s);
    *to = '\0';
    return out;
}

static bool locale_exists(const struct identity *id, const char *wanted)
{
    static const char *const argv[] = {"locale", "-a", NULL};
    autofree char *list = NULL, *plain = plain_locale(wanted);

    if (run_command(id->place, NULL, false, argv, &list, NULL, NULL))
        return false;
    char *cursor = list, *line;
    while ((line = strsep(&cursor, "\n"))) {
        autofree char *have = plain_locale(line);
        if (!strcmp(have, plain))
            return true;
    }
    return false;
}

/* A locale that was never generated gives a warning from every perl; then the one that is always there. */
static int set_locale(const struct identity *id, struct error **err)
{
    if (!word_valid(id->locale, "_-.@"))
        return error_set(err, ERROR_INVALID, "'%s' cannot be a locale", id->locale);
    const char *locale = locale_exists(id, id->locale) ? id->locale : "C.UTF-8";
    autofree char *line = xasprintf("LANG=%s", locale), *debian = under_root(id, "/etc/default");
    return write_line(id, file_exists(debian) ? "/etc/default/locale" : "/etc/locale.conf", line, err);
}

static int set_git(const struct identity *id, struct error **err)
{
    const struct {
        const char *key, *value;
    } settings[] = {
        {"user.name", id->git_name},    {"user.email", id->git_mail},       {"commit.gpgsign", "false"},
        {"init.defaultBranch", "main"}, {"protocol.hutch.allow", "always"},
    };
    autofree char *file = under_root(id, "/etc/gitconfig");

    for (size_t i = 0; i < countof(settings); i++) {
        const char *const argv[] = {"git", "config",        "--file",          file, "--replace-all",
                                    "--",  settings[i].key, settings[i].value, NULL};
        auto(error) struct error *failed = NULL;
        if (!settings[i].value)
            continue;
        if (run_command(id->place, NULL, false, argv, NULL, NULL, &failed) == 0)
            continue;
        if (failed->code != ERROR_MISSING)
            return error_move(err, &failed);
        log_info("the machine has no git");
        return 0;
    }
    return 0;
}

static int check_place(const struct identity *id, struct error **err)
{
    if (id->place->root)
        return 0;
    return error_set(err, ERROR_STATE,
                     "this hutch-guest runs outside a machine and leaves the host's identity alone");
}

static int set(struct call *call, json_t **ret, struct error **err)
{
    struct identity id = {.place = &call->agent->place};

    int rc = check_place(&id, err);
    if (!rc)
        rc = json_opt_string(call->body, "hostname", HOSTNAME_MAX, &id.hostname, err);
    if (!rc)
        rc = json_opt_string(call->body, "timezone", ZONE_MAX, &id.timezone, err);
    if (!rc)
        rc = json_opt_string(call->body, "locale", LOCALE_MAX, &id.locale, err);
    if (!rc)
        rc = json_opt_string(call->body, "git_name", GIT_TEXT_MAX, &id.git_name, err);
    if (!rc)
        rc = json_opt_string(call->body, "git_mail", GIT_TEXT_MAX, &id.git_mail, err);
    if (!rc && id.hostname)
        rc = set_hostname(&id, err);
    if (!rc && id.timezone)
        rc = set_timezone(&id, err);
    if (!rc && id.locale)
        rc = set_locale(&id, err);
    if (!rc && (id.git_name || id.git_mail))
        rc = set_git(&id, err);
    return rc;
}

void identity_set(struct call *call)
{
    call_work(call, set);
}
