#include "image/image.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/units.h"
#include "conf/ini.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DIGEST_LENGTH 64

void base_free(struct base *base)
{
    if (!base)
        return;
    free(base->folder);
    free(base->disk);
    free(base->kernel);
    free(base->initrd);
    free(base->template_name);
    free(base->kernel_version);
    free(base->package_hosts);
    free(base);
}

char *base_folder(const struct paths *paths)
{
    return file_join(paths->data, "bases");
}

static bool is_digest(const char *s)
{
    return strlen(s) == DIGEST_LENGTH && strspn(s, "0123456789abcdef") == DIGEST_LENGTH;
}

/* Is the preset of a host that of an earlier one? */
static bool package_seen(const struct base *base, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(base->package_hosts[i].preset, base->package_hosts[at].preset))
            return true;
    return false;
}

/* The section of a preset, whose first host is given. */
static void write_packages(const struct base *base, size_t first, struct buf *out)
{
    const char *preset = base->package_hosts[first].preset;
    buf_printf(out, NULL, "\n[packages %s]\nhosts =\n", preset);
    for (size_t i = first; i < base->package_host_count; i++) {
        const struct package_host *host = &base->package_hosts[i];
        if (!strcmp(host->preset, preset))
            buf_printf(out, NULL, "    %s %s %u\n", host->tls ? "https" : "http", host->host, host->port);
    }
}

int base_write(const struct base *base, const char *folder, struct error **err)
{
    autofree char *path = file_join(folder, "base.ini");
    struct buf out;
    buf_init(&out, 0);
    buf_printf(&out, NULL,
               "[base]\n"
               "template = %s\n"
               "digest = %s\n"
               "kernel-version = %s\n"
               "virtual-size = %" PRIu64 "\n"
               "built-ns = %" PRId64 "\n",
               base->template_name, base->digest, base->kernel_version, base->virtual_size, base->built_ns);
    for (size_t i = 0; i < base->package_host_count; i++)
        if (!package_seen(base, i))
            write_packages(base, i, &out);
    int r = file_replace(path, buf_data(&out), out.len, 0444, err);
    buf_finish(&out);
    return r;
}

/* The number of a key that base.ini must have. */
static int take_number(const struct ini *ini, const char *key, uint64_t *ret, struct error **err)
{
    const char *value = ini_value(ini, "base", key, NULL);
    if (!value)
        return error_set(err, ERROR_CORRUPT, "\"%s\" has no \"%s\"", ini->file, key);
    return units_parse_number(value, 0, INT64_MAX, ret, err);
}

/* The hosts of all [packages PRESET]. */
static int read_packages(struct base *base, const struct ini *ini, struct error **err)
{
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        for (size_t k = 0; !strcmp(entry->section, "packages") && k < entry->item_count; k++) {
            autofree char *line = xasprintf("%s %s", entry->name, entry->items[k]);
            struct package_host host;
            if (base->package_host_count == PACKAGE_HOSTS_MAX || !package_host_parse(line, &host))
                return ini_error(ini, entry, err, "item %zu of \"hosts\" is no host of packages", k + 1);
            base->package_hosts =
                xrealloc(base->package_hosts, base->package_host_count + 1, sizeof(struct package_host));
            base->package_hosts[base->package_host_count++] = host;
        }
    }
    return 0;
}

static int read_base(struct base *base, struct error **err)
{
    autofree char *path = file_join(base->folder, "base.ini");
    auto(ini) struct ini *ini = NULL;
    uint64_t built;
    int r = ini_load(path, KEY_BASE, &ini, err);
    if (r < 0 || (r = take_number(ini, "virtual-size", &base->virtual_size, err)) < 0 ||
        (r = take_number(ini, "built-ns", &built, err)) < 0)
        return r;
    base->built_ns = (int64_t)built;
    base->template_name = xstrdup(ini_value(ini, "base", "template", NULL));
    base->kernel_version = xstrdup(ini_value(ini, "base", "kernel-version", NULL));
    if (!base->template_name || !base->kernel_version ||
        strcmp(ini_value(ini, "base", "digest", ""), base->digest) != 0)
        return error_set(err, ERROR_CORRUPT, "\"%s\" is not the description of this base", path);
    return read_packages(base, ini, err);
}

/* A damaged base is made again, not repaired. */
static int corrupt(struct error **err, const char *digest, const char *words)
{
    error_free(*err);
    *err = NULL;
    error_set(err, ERROR_CORRUPT, "the base \"%.12s\" is damaged: %s", digest, words);
    return error_hint(err, "build its template again");
}

int base_find(const struct paths *paths, const char *digest, struct base **ret_base, struct error **err)
{
    if (!is_digest(digest))
        return error_set(err, ERROR_INVALID, "\"%s\" is no base's digest", digest);
    auto(base) struct base *base = xnew(struct base);
    memcpy(base->digest, digest, sizeof(base->digest));
    base->folder = xasprintf("%s/bases/%s", paths->data, digest);
    base->disk = file_join(base->folder, "disk.qcow2");
    base->kernel = file_join(base->folder, "kernel");
    base->initrd = file_join(base->folder, "initrd");
    if (!file_exists(base->folder))
        return error_set(err, ERROR_NOT_FOUND, "there is no base \"%.12s\"", digest);
    const char *const files[] = {base->disk, base->kernel, base->initrd};
    auto(error) struct error *why = NULL;
    for (size_t i = 0; i < countof(files); i++) {
        if (!file_exists(files[i])) {
            autofree char *words = xasprintf("\"%s\" is missing", files[i]);
            corrupt(&why, digest, words);
            return error_move(err, &why);
        }
    }
    if (read_base(base, &why) < 0) {
        autofree char *words = xstrdup(why->message);
        corrupt(&why, digest, words);
        return error_move(err, &why);
    }
    base->size = file_disk_usage(base->folder);
    *ret_base = steal(&base);
    return 0;
}

static int is_base(const struct dirent *entry)
{
    return is_digest(entry->d_name);
}

int base_list(const struct paths *paths, struct base ***ret, size_t *ret_count, struct error **err)
{
    autofree char *folder = base_folder(paths);
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_base, alphasort);
    if (count < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot read \"%s\"", folder);
    struct base **bases = xnewn(struct base *, count > 0 ? (size_t)count : 1);
    size_t found = 0;
    for (int i = 0; i < count; i++) {
        if (!base_find(paths, entries[i]->d_name, &bases[found], NULL))
            found++;
        free(entries[i]);
    }
    free(entries);
    *ret = bases;
    *ret_count = found;
    return 0;
}

int base_remove(const struct paths *paths, const char *digest, struct error **err)
{
    if (!is_digest(digest))
        return error_set(err, ERROR_INVALID, "\"%s\" is no base's digest", digest);
    autofree char *folder = xasprintf("%s/bases/%s", paths->data, digest);
    autofree char *suffix = units_random_hex(4);
    /* A name of a temporary: what a kill leaves of it, the next build removes. */
    autofree char *gone = xasprintf("%s/bases/.build-%s", paths->data, suffix);
    if (rename(folder, gone) < 0) {
        if (errno == ENOENT)
            return error_set(err, ERROR_NOT_FOUND, "there is no base \"%.12s\"", digest);
        return error_set_errno(err, errno, "cannot remove \"%s\"", folder);
    }
    return file_remove_tree(gone, err);
}
