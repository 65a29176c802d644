#include "conf/template.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "conf/ini.h"
#include "conf/names.h"

#include <openssl/evp.h>
#include <string.h>

/* Raised when the steps of image/build.c change what a base holds; the recipe's own text counts by itself. */
#define BUILD_VERSION "1"
#define PACKAGES_MAX  500
#define RECIPE_MAX    65536
#define DISK_MIN_LOW  (2ULL << 30)
#define DISK_MIN_HIGH (1ULL << 40)

void template_free(struct template *template)
{
    if (!template)
        return;
    free(template->name);
    free(template->path);
    free(template->about);
    free(template->distribution);
    free(template->suite);
    free(template->mirror);
    free(template->security_mirror);
    free(template->architecture);
    for (size_t i = 0; template->packages && template->packages[i]; i++)
        free(template->packages[i]);
    free(template->packages);
    for (size_t i = 0; template->presets && template->presets[i]; i++)
        free(template->presets[i]);
    free(template->presets);
    free(template->kernel_package);
    for (size_t i = 0; i < template->setup_count; i++) {
        free(template->setup[i].name);
        free(template->setup[i].script);
    }
    free(template->setup);
    free(template->user);
    free(template->cpu_model);
    free(template->kernel_options);
    free(template->recipe);
    free(template);
}

/* Debian's form of a package name, and what apt-get takes beside it ("name/suite", "name=version") is
 * refused. */
static bool is_package(const char *s)
{
    return ((s[0] >= 'a' && s[0] <= 'z') || (s[0] >= '0' && s[0] <= '9')) && s[1] &&
           !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789+.-")] && strlen(s) < 128;
}

/* The form of useradd's NAME_REGEX. */
static bool is_user(const char *s)
{
    return s[0] >= 'a' && s[0] <= 'z' && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-")] &&
           strlen(s) <= 32;
}

static int take_packages(struct template *template, const struct ini *ini, struct error **err)
{
    const struct ini_entry *entry = ini_find(ini, "image", NULL, "packages");
    size_t count = entry && *entry->items[0] ? entry->item_count : 0;
    template->packages = xnewn(char *, count + 1);
    if (count > PACKAGES_MAX)
        return ini_error(ini, entry, err, "%zu packages, the limit is %d", count, PACKAGES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!is_package(entry->items[i])) {
            ini_error(ini, entry, err, "item %zu of \"packages\" is no package's name: \"%s\"", i + 1,
                      entry->items[i]);
            error_hint(err, "one package an indented line");
            return -ERROR_INVALID;
        }
        template->packages[i] = xstrdup(entry->items[i]);
    }
    return 0;
}

/* Without the key: the preset of the distribution. */
static int take_presets(struct template *template, const struct ini *ini, struct error **err)
{
    const struct ini_entry *entry = ini_find(ini, "egress", NULL, "presets");
    size_t count = entry && *entry->items[0] ? entry->item_count : 0;
    template->presets = xnewn(char *, count + 2);
    if (!entry)
        template->presets[0] = xstrdup(template->distribution);
    for (size_t i = 0; i < count; i++) {
        if (name_check("preset", entry->items[i], NULL) < 0)
            return ini_error(ini, entry, err, "item %zu of \"presets\" is no preset's name: \"%s\"", i + 1,
                             entry->items[i]);
        template->presets[i] = xstrdup(entry->items[i]);
    }
    return 0;
}

static void take_setup(struct template *template, const struct ini *ini)
{
    for (size_t i = 0; i < ini->count; i++) {
        const struct ini_entry *entry = &ini->entries[i];
        if (strcmp(entry->section, "setup") != 0)
            continue;
        struct buf script;
        buf_init(&script, 0);
        for (size_t k = 0; k < entry->item_count; k++)
            buf_printf(&script, NULL, "%s\n", entry->items[k]);
        template->setup = xrealloc(template->setup, template->setup_count + 1, sizeof(*template->setup));
        template->setup[template->setup_count++] = (struct template_setup){
            .name = xstrdup(entry->name),
            .script = buf_take_string(&script),
        };
        buf_finish(&script);
    }
}

/* Fills the fields from a checked file. */
static int take_fields(struct template *template, const struct ini *ini, struct error **err)
{
    template->about = xstrdup(ini_value(ini, "template", "about", ""));
    template->distribution = xstrdup(ini_value(ini, "image", "distribution", "debian"));
    template->suite = xstrdup(ini_value(ini, "image", "suite", NULL));
    template->mirror = xstrdup(ini_value(ini, "image", "mirror", NULL));
    template->security_mirror = xstrdup(ini_value(ini, "image", "security-mirror", NULL));
    template->architecture = xstrdup(ini_value(ini, "image", "architecture", "amd64"));
    template->kernel_package = xstrdup(ini_value(ini, "image", "kernel", "linux-image-cloud-amd64"));
    template->user = xstrdup(ini_value(ini, "image", "user", "agent"));
    template->cpu_model = xstrdup(ini_value(ini, "vm", "cpu", NULL));
    template->kernel_options = xstrdup(ini_value(ini, "vm", "kernel-options", NULL));
    if (strcmp(template->distribution, "debian") != 0) {
        ini_error(ini, ini_find(ini, "image", NULL, "distribution"), err, "no recipe for \"%s\"",
                  template->distribution);
        error_hint(err, "the only distribution so far is debian");
        return -ERROR_INVALID;
    }
    if (!template->suite) {
        error_set(err, ERROR_INVALID, "%s:1:1: [image] has no \"suite\"", ini->file);
        error_hint(err, "name a release, such as \"suite = trixie\"");
        return -ERROR_INVALID;
    }
    if (template->mirror && !strcmp(template->mirror, "none"))
        return ini_error(ini, ini_find(ini, "image", NULL, "mirror"), err, "\"mirror\" cannot be none");
    if (!is_user(template->user))
        return ini_error(ini, ini_find(ini, "image", NULL, "user"), err, "\"%s\" is no user's name",
                         template->user);
    if (!is_package(template->kernel_package))
        return ini_error(ini, ini_find(ini, "image", NULL, "kernel"), err, "\"%s\" is no package's name",
                         template->kernel_package);
    units_parse_size(ini_value(ini, "vm", "disk-min", "8G"), &template->disk_min, NULL);
    if (template->disk_min < DISK_MIN_LOW || template->disk_min > DISK_MIN_HIGH)
        return ini_error(ini, ini_find(ini, "vm", NULL, "disk-min"), err, "\"disk-min\" is 2G to 1T");
    int r = take_presets(template, ini, err);
    if (r < 0)
        return r;
    take_setup(template, ini);
    return take_packages(template, ini, err);
}

/* "key LENGTH:value", so that no two different templates have the same text. */
static void digest_field(EVP_MD_CTX *context, const char *key, const char *value)
{
    autofree char *field = xasprintf("%s %zu:%s\n", key, value ? strlen(value) : 0, value ? value : "");
    require(EVP_DigestUpdate(context, field, strlen(field)));
}

/* The base's address: everything that decides what is in the image, and nothing else. */
static void digest(struct template *template)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    require(context && EVP_DigestInit_ex(context, EVP_sha256(), NULL));
    digest_field(context, "build", BUILD_VERSION);
    digest_field(context, "recipe", template->recipe);
    digest_field(context, "distribution", template->distribution);
    digest_field(context, "suite", template->suite);
    digest_field(context, "mirror", template->mirror);
    digest_field(context, "security-mirror", template->security_mirror);
    digest_field(context, "architecture", template->architecture);
    digest_field(context, "kernel", template->kernel_package);
    digest_field(context, "user", template->user);
    autofree char *size = xasprintf("%llu", (unsigned long long)template->disk_min);
    digest_field(context, "size", size);
    for (size_t i = 0; template->packages[i]; i++)
        digest_field(context, "package", template->packages[i]);
    for (size_t i = 0; i < template->setup_count; i++) {
        digest_field(context, "setup", template->setup[i].name);
        digest_field(context, "run", template->setup[i].script);
    }
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    require(EVP_DigestFinal_ex(context, hash, &len) && len == 32);
    EVP_MD_CTX_free(context);
    for (unsigned i = 0; i < len; i++)
        snprintf(template->digest + (size_t)2 * i, 3, "%02x", hash[i]);
}

/* ERROR_NOT_FOUND with the nearest name or all of them. */
static int not_found(const struct paths *paths, const char *name, struct error **err)
{
    char **names = template_names(paths);
    const char *near = text_nearest(name, (const char *const *)names);
    struct buf all;
    buf_init(&all, 4096);
    for (size_t i = 0; names[i]; i++)
        buf_printf(&all, NULL, "%s%s", i ? ", " : "", names[i]);
    autofree char *list = buf_take_string(&all);
    error_set(err, ERROR_NOT_FOUND, "there is no template \"%s\"", name);
    if (near)
        error_hint(err, "did you mean \"%s\"? There are: %s", near, list);
    else
        error_hint(err, "there are: %s", *list ? list : "none");
    buf_finish(&all);
    names_free(names);
    return -ERROR_NOT_FOUND;
}

int template_load(const struct paths *paths, const char *name, struct template **ret_template,
                  struct error **err)
{
    int r = name_check("template", name, err);
    if (r < 0)
        return r;
    auto(template) struct template *template = xnew(struct template);
    template->name = xstrdup(name);
    template->path = xasprintf("%s/templates/%s.ini", paths->config, name);
    template->user_file = file_exists(template->path);
    if (!template->user_file) {
        free(template->path);
        template->path = xasprintf("%s/%s.ini", paths->templates, name);
        if (!file_exists(template->path))
            return not_found(paths, name, err);
    }
    auto(ini) struct ini *ini = NULL;
    r = ini_load(template->path, KEY_TEMPLATE, &ini, err);
    if (r < 0 || (r = take_fields(template, ini, err)) < 0)
        return r;
    autofree char *recipe = xasprintf("%s/%s.sh", paths->templates, template->distribution);
    r = file_read_regular(recipe, RECIPE_MAX, &template->recipe, NULL, err);
    if (r < 0) {
        error_hint(err, "hutch's own files are incomplete: install it again");
        return r;
    }
    digest(template);
    *ret_template = steal(&template);
    return 0;
}

char **template_names(const struct paths *paths)
{
    autofree char *own = file_join(paths->config, "templates");
    return names_of_files("template", (const char *const[]){own, paths->templates, NULL});
}
