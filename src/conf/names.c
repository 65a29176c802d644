#include "conf/names.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* `hutch demo` is no exception that confuses: it works in the project of that name, which quickstart makes.
 */
const char *const name_verbs[] = {
    "agent",     "allow",      "attach", "completion", "cp",       "deny",     "df",        "diff",
    "doctor",    "exec",       "export", "fork",       "git",      "help",     "host-port", "import",
    "journal",   "land",       "log",    "ls",         "mcp",      "mount",    "nc",        "paths",
    "pause",     "plan",       "port",   "prune",      "report",   "requests", "resize",    "restore",
    "resume",    "rm",         "rule",   "secret",     "sessions", "shell",    "show",      "snapshot",
    "snapshots", "ssh-config", "start",  "status",     "stop",     "suspend",  "template",  "undo",
    "up",        "version",    NULL,
};

static bool is_verb(const char *name)
{
    for (size_t i = 0; name_verbs[i]; i++)
        if (!strcmp(name_verbs[i], name))
            return true;
    return false;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* The name as it may be shown: safe, and cut where it is absurd. */
static char *shown(const char *name)
{
    struct text text;
    text_init(&text, name, strlen(name), 64, TEXT_DEFAULT);
    char *out = xstrdup(text.bytes);
    text_finish(&text);
    return out;
}

int name_check(const char *what, const char *name, struct error **err)
{
    const char *form = N_("a name is 1 to 32 of a-z, 0-9 and \"-\", and starts with a letter or digit");
    size_t len = strlen(name);
    if (!len) {
        error_set(err, ERROR_INVALID, _("the %s's name is empty"), _(what));
        error_hint(err, "%s", _(form));
        return -ERROR_INVALID;
    }
    autofree char *safe = shown(name);
    if (len > NAME_MAX_LENGTH) {
        error_set(err, ERROR_INVALID, _("\"%s\" is no %s's name: it has %zu bytes, the limit is %d"), safe,
                  _(what), len, NAME_MAX_LENGTH);
        error_hint(err, "%s", _(form));
        return -ERROR_INVALID;
    }
    size_t digits = strspn(name, "0123456789");
    for (size_t i = 0; i < len; i++) {
        if (is_plain(name[i]) || (name[i] == '-' && i > 0))
            continue;
        autofree char *better = name_from(name);
        error_set(err, ERROR_INVALID, _("\"%s\" is no %s's name: character %zu is not allowed%s"), safe,
                  _(what), i + 1, name[i] == '-' ? _(" at the start") : "");
        if (better)
            error_hint(err, _("%s; \"%s\" would do"), _(form), better);
        else
            error_hint(err, "%s", _(form));
        return -ERROR_INVALID;
    }
    if (strcmp(what, "project") != 0)
        return 0;
    if (is_verb(name)) {
        error_set(err, ERROR_INVALID,
                  _("\"%s\" cannot be a project's name: it is a verb of the command line"), name);
        error_hint(err, _("take another, such as \"%s-1\""), name);
        return -ERROR_INVALID;
    }
    if (digits == len) {
        error_set(err, ERROR_INVALID, _("\"%s\" cannot be a project's name: it reads like a number"), name);
        error_hint(err, _("take another, such as \"p%s\""), name);
        return -ERROR_INVALID;
    }
    return 0;
}

/* Start and length of the last part of a path, URL or host:path, without ".git" and what follows "#". */
static const char *last_part(const char *s, size_t *ret_len)
{
    size_t end = strcspn(s, "#");
    for (;;) {
        while (end > 0 && s[end - 1] == '/')
            end--;
        if (end >= 4 && !memcmp(s + end - 4, ".git", 4))
            end -= 4;
        if (!end || s[end - 1] != '/')
            break;
    }
    size_t start = end;
    while (start > 0 && s[start - 1] != '/' && s[start - 1] != ':')
        start--;
    *ret_len = end - start;
    return s + start;
}

char *name_from(const char *path_or_url)
{
    size_t len;
    const char *part = last_part(path_or_url, &len);
    char name[NAME_MAX_LENGTH + 1];
    size_t used = 0;
    bool gap = false;
    for (size_t i = 0; i < len && used < NAME_MAX_LENGTH; i++) {
        char c = part[i] >= 'A' && part[i] <= 'Z' ? (char)(part[i] - 'A' + 'a') : part[i];
        if (!is_plain(c)) {
            gap = used > 0;
            continue;
        }
        if (gap && used + 1 < NAME_MAX_LENGTH)
            name[used++] = '-';
        else if (gap)
            break;
        gap = false;
        name[used++] = c;
    }
    return used ? xstrndup(name, used) : NULL;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_names(const char *what, const char *folder, char ***names, size_t *count)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        if (len < 5 || strcmp(entry->d_name + len - 4, ".ini") != 0)
            continue;
        autofree char *name = xstrndup(entry->d_name, len - 4);
        if (name_check(what, name, NULL) < 0)
            continue;
        *names = xrealloc(*names, *count + 2, sizeof(char *));
        (*names)[(*count)++] = steal(&name);
    }
    closedir(dir);
}

char **names_of_files(const char *what, const char *const *folders)
{
    char **names = xnewn(char *, 1);
    size_t count = 0, kept = 0;
    for (size_t i = 0; folders[i]; i++)
        add_names(what, folders[i], &names, &count);
    qsort(names, count, sizeof(char *), compare);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && !strcmp(names[kept - 1], names[i]))
            free(names[i]);
        else
            names[kept++] = names[i];
    }
    names[kept] = NULL;
    return names;
}

void names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
