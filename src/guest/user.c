#include "guest/user.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"

#include <errno.h>
#include <grp.h>
#include <string.h>

#define ACCOUNTS_MAX (4 * 1024 * 1024) /* bytes of /etc/passwd or /etc/group */
#define SETTINGS_MAX (64 * 1024)
#define ENTRIES_MAX  1024
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Cuts a line at its colons into at most count fields; returns how many there are. */
static size_t split_line(char *line, char **fields, size_t count)
{
    size_t n = 0;
    char *p = line;
    while (n < count && p) {
        fields[n++] = p;
        p = strchr(p, ':');
        if (p)
            *p++ = '\0';
    }
    return n;
}

/* Next line of a terminated block, or NULL; the newline becomes the end. */
static char *next_line(char **cursor)
{
    char *line = *cursor;
    if (!line || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    if (end)
        *end++ = '\0';
    *cursor = end;
    return line;
}

static bool parse_id(const char *s, uint32_t *ret)
{
    uint64_t value;
    if (units_parse_number(s, 0, UINT32_MAX - 1, &value, NULL))
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool is_member(char *members, const char *name)
{
    char *member;
    while ((member = strsep(&members, ",")))
        if (!strcmp(member, name))
            return true;
    return false;
}

/* Fills in the supplementary groups; a missing /etc/group leaves the primary one. */
static void read_groups(struct user *user)
{
    autofree char *data = NULL;
    size_t len;

    user->groups[user->group_count++] = user->gid;
    if (file_read("/etc/group", ACCOUNTS_MAX, &data, &len, NULL))
        return;
    char *cursor = data, *line, *field[4];
    while ((line = next_line(&cursor)) && user->group_count < USER_GROUPS_MAX) {
        uint32_t gid;
        if (split_line(line, field, 4) == 4 && parse_id(field[2], &gid) && gid != user->gid &&
            is_member(field[3], user->name))
            user->groups[user->group_count++] = gid;
    }
}

/* Looks one account up, by name or by uid (by_uid). Returns NULL if it is not there. */
static struct user *find_account(const char *name, uid_t uid, bool by_uid)
{
    autofree char *data = NULL;
    size_t len;

    if (file_read("/etc/passwd", ACCOUNTS_MAX, &data, &len, NULL))
        return NULL;
    char *cursor = data, *line, *field[7];
    while ((line = next_line(&cursor))) {
        uint32_t entry_uid, entry_gid;
        if (split_line(line, field, 7) != 7 || !parse_id(field[2], &entry_uid) ||
            !parse_id(field[3], &entry_gid))
            continue;
        if (by_uid ? entry_uid != uid : strcmp(field[0], name) != 0)
            continue;
        struct user *user = xnew(struct user);
        user->name = xstrdup(field[0]);
        user->uid = entry_uid;
        user->gid = entry_gid;
        user->home = xstrdup(*field[5] == '/' ? field[5] : "/");
        user->shell = xstrdup(*field[6] == '/' ? field[6] : "/bin/sh");
        read_groups(user);
        return user;
    }
    return NULL;
}

/* A machine without accounts (an initrd, a bare container) still has these two. */
static struct user *nameless_account(uid_t uid)
{
    struct user *user = xnew(struct user);
    user->name = uid == 0 ? xstrdup("root") : xasprintf("%u", (unsigned)uid);
    user->uid = uid;
    user->gid = uid == 0 ? 0 : getgid();
    user->home = xstrdup(uid == 0 ? "/root" : "/");
    user->shell = xstrdup("/bin/sh");
    user->groups[user->group_count++] = user->gid;
    return user;
}

int user_find_uid(uid_t uid, struct user **ret_user, struct error **err)
{
    struct user *user = find_account(NULL, uid, true);
    if (!user && (uid == 0 || uid == geteuid()))
        user = nameless_account(uid);
    if (!user)
        return error_set(err, ERROR_NOT_FOUND, "the machine has no user with the number %u", (unsigned)uid);
    *ret_user = user;
    return 0;
}

int user_find(const char *name, struct user **ret_user, struct error **err)
{
    struct user *user = NULL;
    uint32_t uid;

    if (!name || !*name) {
        if (geteuid() == 0 && (user = find_account(USER_DEFAULT, 0, false))) {
            *ret_user = user;
            return 0;
        }
        return user_find_uid(geteuid(), ret_user, err);
    }
    user = find_account(name, 0, false);
    if (!user && !strcmp(name, "root"))
        user = nameless_account(0);
    if (!user && parse_id(name, &uid))
        return user_find_uid(uid, ret_user, err);
    if (!user) {
        error_set(err, ERROR_NOT_FOUND, "the machine has no user '%.64s'", name);
        return error_hint(err, "see /etc/passwd in the machine; the default is '%s'", USER_DEFAULT);
    }
    *ret_user = user;
    return 0;
}

void user_free(struct user *user)
{
    if (!user)
        return;
    free(user->name);
    free(user->home);
    free(user->shell);
    free(user);
}

void user_set_environment(char ***environment, const char *key, const char *value)
{
    size_t n = 0, key_len = strlen(key);
    char *entry = xasprintf("%s=%s", key, value);

    for (; (*environment)[n]; n++) {
        if (!strncmp((*environment)[n], key, key_len) && (*environment)[n][key_len] == '=') {
            free((*environment)[n]);
            (*environment)[n] = entry;
            return;
        }
    }
    *environment = xrealloc(*environment, n + 2, sizeof(char *));
    (*environment)[n] = entry;
    (*environment)[n + 1] = NULL;
}

/* Strips one pair of quotes and trailing blanks, as pam_env does. */
static char *bare_value(char *value)
{
    size_t len = strlen(value);
    while (len && (value[len - 1] == ' ' || value[len - 1] == '\t' || value[len - 1] == '\r'))
        value[--len] = '\0';
    if (len >= 2 && (*value == '"' || *value == '\'') && value[len - 1] == *value) {
        value[len - 1] = '\0';
        value++;
    }
    return value;
}

/* Takes the K=V lines of a settings file; only those named `only` (NULL: all). */
static void read_settings(const char *path, const char *only, char ***environment)
{
    autofree char *data = NULL;
    size_t len, taken = 0;

    if (file_read(path, SETTINGS_MAX, &data, &len, NULL))
        return;
    char *cursor = data, *line;
    while ((line = next_line(&cursor)) && taken++ < ENTRIES_MAX) {
        line += strspn(line, " \t");
        if (!strncmp(line, "export ", 7))
            line += 7;
        char *value = strchr(line, '=');
        if (*line == '#' || !value || value == line)
            continue;
        *value++ = '\0';
        if (!only || !strcmp(line, only))
            user_set_environment(environment, line, bare_value(value));
    }
}

static const char *find_value(char **environment, const char *key)
{
    size_t len = strlen(key);
    for (; *environment; environment++)
        if (!strncmp(*environment, key, len) && (*environment)[len] == '=')
            return *environment + len + 1;
    return NULL;
}

char **user_environment(const struct user *user, const char *bin)
{
    char **environment = xnewn(char *, 1);

    user_set_environment(&environment, "PATH", DEFAULT_PATH);
    user_set_environment(&environment, "LANG", "C.UTF-8");
    read_settings("/etc/default/locale", "LANG", &environment);
    read_settings("/etc/locale.conf", "LANG", &environment);
    read_settings("/etc/environment", NULL, &environment);
    user_set_environment(&environment, "HOME", user->home);
    user_set_environment(&environment, "USER", user->name);
    user_set_environment(&environment, "LOGNAME", user->name);
    user_set_environment(&environment, "SHELL", user->shell);
    const char *state = getenv("HUTCH_GUEST_STATE"); /* set outside a machine only */
    if (state)
        user_set_environment(&environment, "HUTCH_GUEST_STATE", state);
    if (bin) {
        autofree char *path = xasprintf("%s:%s", find_value(environment, "PATH"), bin);
        user_set_environment(&environment, "PATH", path);
    }
    return environment;
}

void user_free_environment(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}

int user_become(const struct user *user, struct error **err)
{
    if (geteuid() != 0) {
        if (geteuid() == user->uid)
            return 0;
        return error_set(err, ERROR_DENIED, "only root can become the user '%s'", user->name);
    }
    if (setgroups(user->group_count, user->groups))
        return error_set_errno(err, errno, "cannot take the groups of '%s'", user->name);
    if (setresgid(user->gid, user->gid, user->gid))
        return error_set_errno(err, errno, "cannot take the group of '%s'", user->name);
    if (setresuid(user->uid, user->uid, user->uid))
        return error_set_errno(err, errno, "cannot become the user '%s'", user->name);
    return 0;
}
