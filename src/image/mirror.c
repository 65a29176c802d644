#include "image/mirror.h"

#include "base/alloc.h"
#include "base/file.h"
#include "conf/ini.h"

#include <dirent.h>
#include <string.h>

#define SOURCES_FILE_MAX (1024 * 1024)

/* What one stanza or line says, as blank-separated words. */
struct source {
    char *types, *uris, *suites, *components, *signed_by;
    bool disabled;
};

/* The best entries so far. */
struct scan {
    struct mirrors best;
    int score;
};

void mirrors_finish(struct mirrors *mirrors)
{
    free(mirrors->main);
    free(mirrors->security);
    *mirrors = (struct mirrors){0};
}

static void source_finish(struct source *source)
{
    free(source->types);
    free(source->uris);
    free(source->suites);
    free(source->components);
    free(source->signed_by);
    *source = (struct source){0};
}

/* Is word one of the blank-separated words of list? */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; p && *p;) {
        p += strspn(p, " \t\n");
        size_t n = strcspn(p, " \t\n");
        if (n == len && !strncmp(p, word, n))
            return true;
        p += n;
    }
    return false;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len >= n && !memcmp(s + len - n, end, n);
}

/* Does a word of the list end so? */
static bool has_ending(const char *list, const char *end)
{
    for (const char *p = list; p && *p;) {
        p += strspn(p, " \t\n");
        size_t n = strcspn(p, " \t\n");
        if (ends_with(p, n, end))
            return true;
        p += n;
    }
    return false;
}

/* The first URI of a list of them ("# …" is a comment), for http, https and mirror+file. Caller frees; NULL:
 * none. */
static char *first_uri(const char *uris, int depth)
{
    for (const char *p = uris; p && *p;) {
        p += strspn(p, " \t\n");
        size_t n = strcspn(p, " \t\n");
        if (*p == '#') {
            p += strcspn(p, "\n");
            continue;
        }
        autofree char *uri = xstrndup(p, n);
        p += n;
        if (!strncmp(uri, "http://", 7) || !strncmp(uri, "https://", 8)) {
            while (n > 0 && uri[n - 1] == '/')
                uri[--n] = '\0';
            return steal(&uri);
        }
        const char *list = uri + strlen("mirror+file:");
        if (strncmp(uri, "mirror+file:", strlen("mirror+file:")) != 0 || depth > 0)
            continue;
        autofree char *data = NULL;
        if (!file_read(!strncmp(list, "//", 2) ? list + 2 : list, SOURCES_FILE_MAX, &data, NULL, NULL)) {
            char *found = first_uri(data, depth + 1);
            if (found)
                return found;
        }
    }
    return NULL;
}

/* How sure it is that a source is Debian's own archive; 0: it is not. first: it stands in sources.list
 * itself. */
static int score_of(const struct source *source, const char *uri, bool first)
{
    if (source->disabled || !has_word(source->types, "deb") || !has_word(source->components, "main"))
        return 0;
    /* Every other vendor of today names a keyring of its own, whatever its suite is called. */
    if (source->signed_by && *source->signed_by)
        return strstr(source->signed_by, "debian-archive") ? 4 : 0;
    return strstr(uri, "/debian") ? 1 + first : 0;
}

static void consider(struct scan *scan, const struct source *source, bool first)
{
    autofree char *uri = first_uri(source->uris, 0);
    int score = uri ? score_of(source, uri, first) : 0;
    if (!score)
        return;
    bool security = has_ending(source->suites, "-security") || has_ending(source->suites, "/updates");
    bool plain = false;
    for (const char *p = source->suites; p && *p;) {
        p += strspn(p, " \t\n");
        size_t n = strcspn(p, " \t\n");
        if (n > 0 && !memchr(p, '/', n) && !ends_with(p, n, "-security") && !ends_with(p, n, "-updates") &&
            !ends_with(p, n, "-backports"))
            plain = true;
        p += n;
    }
    if (security && !scan->best.security)
        scan->best.security = xstrdup(uri);
    if (plain && score > scan->score) {
        free(scan->best.main);
        scan->best.main = steal(&uri);
        scan->score = score;
    }
}

/* "deb [arch=amd64 signed-by=FILE] URI SUITE COMPONENT…" */
static void scan_line(struct scan *scan, const char *line, bool first)
{
    struct source source = {0};
    const char *p = line + strspn(line, " \t");
    size_t n = strcspn(p, " \t");
    source.types = xstrndup(p, n);
    p += n + strspn(p + n, " \t");
    if (*p == '[') {
        size_t len = strcspn(p, "]");
        autofree char *options = xstrndup(p + 1, len > 0 ? len - 1 : 0);
        const char *by = strstr(options, "signed-by=");
        if (by)
            source.signed_by = xstrndup(by + 10, strcspn(by + 10, " \t"));
        p += len + (p[len] == ']');
        p += strspn(p, " \t");
    }
    n = strcspn(p, " \t");
    source.uris = xstrndup(p, n);
    p += n + strspn(p + n, " \t");
    n = strcspn(p, " \t");
    source.suites = xstrndup(p, n);
    p += n;
    source.components = xstrndup(p, strcspn(p, "#"));
    consider(scan, &source, first);
    source_finish(&source);
}

/* Appends a value's line to a field. */
static void append(char **field, const char *value)
{
    char *joined = *field ? xasprintf("%s\n%s", *field, value) : xstrdup(value);
    free(*field);
    *field = joined;
}

/* One line of a deb822 stanza; *field is where continuation lines go. */
static void scan_field(struct source *source, char ***field, const char *line)
{
    if (*line == ' ' || *line == '\t') {
        if (*field)
            append(*field, line + strspn(line, " \t"));
        return;
    }
    const char *colon = strchr(line, ':');
    *field = NULL;
    if (!colon)
        return;
    autofree char *name = xstrndup(line, colon - line);
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    if (!strcasecmp(name, "Enabled"))
        source->disabled = !strcasecmp(value, "no") || !strcasecmp(value, "false") || !strcmp(value, "0");
    else if (!strcasecmp(name, "Types"))
        *field = &source->types;
    else if (!strcasecmp(name, "URIs"))
        *field = &source->uris;
    else if (!strcasecmp(name, "Suites"))
        *field = &source->suites;
    else if (!strcasecmp(name, "Components"))
        *field = &source->components;
    else if (!strcasecmp(name, "Signed-By"))
        *field = &source->signed_by;
    if (*field)
        append(*field, value);
}

static void scan_file(struct scan *scan, const char *path, bool deb822, bool first)
{
    autofree char *data = NULL;
    if (file_read(path, SOURCES_FILE_MAX, &data, NULL, NULL) < 0)
        return;
    struct source source = {0};
    char **field = NULL;
    for (char *line = data, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        size_t len = strlen(line);
        while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
            line[--len] = '\0';
        if (*line == '#')
            continue;
        if (!deb822 && len) {
            scan_line(scan, line, first);
        } else if (deb822 && len) {
            scan_field(&source, &field, line);
        } else if (deb822) {
            consider(scan, &source, first);
            source_finish(&source);
            field = NULL;
        }
    }
    if (deb822)
        consider(scan, &source, first);
    source_finish(&source);
}

static int is_source(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return ends_with(entry->d_name, len, ".list") || ends_with(entry->d_name, len, ".sources");
}

int mirrors_scan(const char *folder, struct mirrors *ret_mirrors, struct error **err)
{
    struct scan scan = {0};
    autofree char *list = file_join(folder, "sources.list");
    scan_file(&scan, list, false, true);
    autofree char *parts = file_join(folder, "sources.list.d");
    struct dirent **entries = NULL;
    int count = scandir(parts, &entries, is_source, alphasort);
    for (int i = 0; i < count; i++) {
        autofree char *path = file_join(parts, entries[i]->d_name);
        scan_file(&scan, path, ends_with(path, strlen(path), ".sources"), false);
        free(entries[i]);
    }
    free(entries);
    if (!scan.best.main) {
        mirrors_finish(&scan.best);
        return error_set(err, ERROR_NOT_FOUND, "no source of Debian packages in \"%s\"", folder);
    }
    *ret_mirrors = scan.best;
    return 0;
}

/* The value of a key of the user's hutch.ini. */
static char *configured(const struct ini *ini, const char *key)
{
    const char *value = ini ? ini_value(ini, "image", key, NULL) : NULL;
    return xstrdup(value);
}

/* A URI without slashes at its end, which would make "//dists". Takes it. */
static char *trimmed(char *uri)
{
    size_t len = uri ? strlen(uri) : 0;
    while (len > 0 && uri[len - 1] == '/')
        uri[--len] = '\0';
    return uri;
}

int mirrors_find(const struct paths *paths, const struct template *template, const char *apt_folder,
                 struct mirrors *ret_mirrors, struct error **err)
{
    autofree char *file = file_join(paths->config, "hutch.ini");
    auto(ini) struct ini *ini = NULL;
    int r = file_exists(file) ? ini_load(file, KEY_USER, &ini, err) : 0;
    if (r < 0)
        return r;
    struct mirrors host = {0},
                   mirrors = {
                       .main = template->mirror ? xstrdup(template->mirror) : configured(ini, "mirror"),
                       .security = template->security_mirror ? xstrdup(template->security_mirror)
                                                             : configured(ini, "security-mirror"),
                   };
    auto(error) struct error *why = NULL;
    r = mirrors.main && mirrors.security ? 0 : mirrors_scan(apt_folder, &host, &why);
    if (r < 0 && !mirrors.main) {
        mirrors_finish(&mirrors);
        error_hint(&why, "say where they are: \"mirror = http://…/debian\" under [image] in \"%s\"", file);
        return error_move(err, &why);
    }
    if (!mirrors.main)
        mirrors.main = steal(&host.main);
    if (!mirrors.security)
        mirrors.security = steal(&host.security);
    mirrors_finish(&host);
    mirrors.main = trimmed(mirrors.main);
    mirrors.security = trimmed(mirrors.security);
    if (mirrors.security && !strcmp(mirrors.security, "none")) {
        free(mirrors.security);
        mirrors.security = NULL;
    }
    *ret_mirrors = mirrors;
    return 0;
}

char **mirrors_sources(const struct mirrors *mirrors, const char *suite)
{
    char **sources = xnewn(char *, 4);
    size_t count = 0;
    sources[count++] = xasprintf("deb %s %s main", mirrors->main, suite);
    if (!strcmp(suite, "sid") || !strcmp(suite, "unstable")) /* they have neither */
        return sources;
    sources[count++] = xasprintf("deb %s %s-updates main", mirrors->main, suite);
    if (mirrors->security)
        sources[count++] = xasprintf("deb %s %s-security main", mirrors->security, suite);
    return sources;
}
