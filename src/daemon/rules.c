#include "daemon/rules.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"
#include "conf/egress.h"
#include "conf/names.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define RULES_MADE_MAX 4096 /* bytes of a file as rules_write makes it */

/* What is collected until the policy is made. */
struct collection {
    struct rule **rules;
    size_t count;
    struct rule **masks; /* of "-TARGET" */
    size_t mask_count;
    bool *mask_used;
    bool has_guest_preset; /* then a mask may be about a host that is not known yet */
};

static void collection_finish(struct collection *all)
{
    for (size_t i = 0; i < all->count; i++)
        rule_free(all->rules[i]);
    for (size_t i = 0; i < all->mask_count; i++)
        rule_free(all->masks[i]);
    free(all->rules);
    free(all->masks);
    free(all->mask_used);
}

char *rules_path(const struct paths *paths, const char *project)
{
    return project ? xasprintf("%s/projects/%s.ini", paths->config, project)
                   : xasprintf("%s/rules.ini", paths->config);
}

/* Takes the rule, unless a mask takes it out. */
static void keep(struct collection *all, struct rule *rule)
{
    for (size_t i = 0; rule->layer == LAYER_PRESET && i < all->mask_count; i++)
        if (rule_is_about(rule, all->masks[i])) {
            all->mask_used[i] = true;
            rule_free(rule);
            return;
        }
    all->rules = xrealloc(all->rules, all->count + 1, sizeof(struct rule *));
    all->rules[all->count++] = rule;
}

static int take_lines(struct collection *all, const struct egress_line *lines, size_t count,
                      struct rule_origin origin, struct error **err)
{
    for (size_t i = 0; i < count; i++) {
        struct rule *rule = NULL;
        origin.line = lines[i].line;
        origin.column = lines[i].column;
        int r = rule_parse(lines[i].rule, strlen(lines[i].rule), &origin, &rule, err);
        if (r < 0)
            return r;
        keep(all, rule);
    }
    return 0;
}

/* "-TARGET" of the project. */
static int take_masks(struct collection *all, const struct egress_file *file, struct error **err)
{
    all->mask_used = xnewn(bool, file->removed_count);
    for (size_t i = 0; i < file->removed_count; i++) {
        const struct egress_word *word = &file->removed[i];
        autofree char *text = xasprintf("deny %s", word->text);
        /* The word begins at "-", the target behind it. */
        struct rule_origin origin = {LAYER_PROJECT, file->path, word->line,
                                     word->column + 1 - (int)strlen("deny "), UPLOADS_UNSAID};
        struct rule *mask = NULL;
        int r = rule_parse(text, strlen(text), &origin, &mask, err);
        if (r < 0)
            return r;
        all->masks = xrealloc(all->masks, all->mask_count + 1, sizeof(struct rule *));
        all->masks[all->mask_count++] = mask;
    }
    return 0;
}

/* A line that was to be taken out and is in no preset: mistyped, it would leave open what should be closed.
 */
static int check_masks(const struct collection *all, const struct egress_file *file, struct error **err)
{
    for (size_t i = 0; i < all->mask_count; i++) {
        const struct egress_word *word = &file->removed[i];
        if (all->mask_used[i] || all->has_guest_preset)
            continue;
        error_set(err, ERROR_INVALID, "%s:%d:%d: no preset of the project has a line for \"%s\"", file->path,
                  word->line, word->column, word->text);
        if (err)
            error_hint(err, "write it as in the preset, or remove the line");
        return -ERROR_INVALID;
    }
    return 0;
}

/* Exact names only; the rest of what a machine says about itself is nobody's wish. */
static void take_guest_hosts(struct collection *all, const struct rules_input *input,
                             const struct preset *preset)
{
    size_t taken = 0;
    for (size_t i = 0; i < input->guest_host_count && taken < RULES_GUEST_MAX; i++) {
        const struct rules_guest_host *host = &input->guest_hosts[i];
        if (strcmp(host->host.preset, preset->name) != 0)
            continue;
        autofree char *item = package_host_item(&host->host);
        autofree char *text = xasprintf("%s %s", host->from_base ? "allow" : "ask", item);
        struct rule_origin origin = {LAYER_PRESET, preset->name, 0, 0,
                                     preset->uploads ? UPLOADS_YES : UPLOADS_NO};
        struct rule *rule = NULL;
        if (rule_parse(text, strlen(text), &origin, &rule, NULL) < 0)
            continue;
        bool plain = rule->target == TARGET_NAME && rule->port_form == PORT_SINGLE;
        if (plain)
            keep(all, rule);
        else
            rule_free(rule);
        taken += plain;
    }
}

static int take_preset(struct collection *all, const struct paths *paths, const struct rules_input *input,
                       const char *name, struct error **err)
{
    auto(preset) struct preset *preset = NULL;
    int r = preset_load(paths, name, &preset, err);
    if (r < 0)
        return r;
    all->has_guest_preset |= preset->from_guest;
    if (preset->from_guest)
        take_guest_hosts(all, input, preset);
    struct rule_origin origin = {.layer = LAYER_PRESET,
                                 .source = preset->user_file ? preset->path : preset->name};
    if (preset->uploads_said)
        origin.uploads = preset->uploads ? UPLOADS_YES : UPLOADS_NO;
    return take_lines(all, preset->lines, preset->line_count, origin, err);
}

/* The presets of the project, or those of its template. */
static int take_presets(struct collection *all, const struct paths *paths, const struct rules_input *input,
                        const struct egress_file *file, struct error **err)
{
    int r = 0;
    if (!file->presets_said) {
        for (size_t i = 0; !r && input->presets && input->presets[i]; i++)
            r = take_preset(all, paths, input, input->presets[i], err);
        return r;
    }
    for (size_t i = 0; !r && i < file->preset_count; i++) {
        r = take_preset(all, paths, input, file->presets[i].text, err);
        if (r < 0 && err)
            error_prefix(err, "%s:%d:%d", file->path, file->presets[i].line, file->presets[i].column);
    }
    return r;
}

static int take_user(struct collection *all, const struct paths *paths, struct error **err)
{
    autofree char *path = rules_path(paths, NULL);
    auto(egress) struct egress_file *file = NULL;
    auto(error) struct error *why = NULL;
    int r = egress_load(path, KEY_RULES, &file, &why);
    if (r == -ERROR_NOT_FOUND)
        return 0;
    if (r < 0)
        return error_move(err, &why);
    struct rule_origin origin = {.layer = LAYER_USER, .source = path};
    return take_lines(all, file->lines, file->line_count, origin, err);
}

/* Is the socket in a folder of hutch's own, by whatever way the path goes there? */
static bool is_own_socket(const struct paths *paths, const char *to)
{
    static const char unix_word[] = "unix:";
    autofree char *own = realpath(paths->run, NULL), *real = NULL;

    if (strncmp(to, unix_word, strlen(unix_word)) != 0)
        return false;
    autofree char *folder = xstrdup(to + strlen(unix_word));
    char *slash = strrchr(folder, '/');
    real = realpath(folder, NULL); /* a link, too */
    if (!real && slash) {
        slash[slash == folder] = '\0';
        real = realpath(folder, NULL);
    }
    size_t len = own ? strlen(own) : 0;
    return own && real && !strncmp(real, own, len) && (!real[len] || real[len] == '/');
}

static int check_own(const struct paths *paths, const char *name, const char *to, struct error **err)
{
    if (!is_own_socket(paths, to))
        return 0;
    error_set(err, ERROR_DENIED, "host port \"%s\" leads to %s: a machine must not reach hutch itself", name,
              to);
    return error_hint(err, "take it out of the project's file, or let it lead elsewhere");
}

static int make_policy(struct collection *all, const struct paths *paths, const struct rules_input *input,
                       const struct egress_file *file, struct policy **ret_policy, struct error **err)
{
    struct policy_options options = {.generation = input->generation, .secret_hosts = input->secret_hosts};
    int r = file->mode ? policy_mode_parse(file->mode, &options.mode, err) : 0;
    for (size_t i = 0; r == 0 && i < file->host_port_count; i++)
        r = check_own(paths, file->host_ports[i].name, file->host_ports[i].to, err);
    if (r < 0)
        return r;
    struct policy_host_port *ports = xnewn(struct policy_host_port, file->host_port_count);
    for (size_t i = 0; i < file->host_port_count; i++)
        ports[i] = (struct policy_host_port){file->host_ports[i].name, file->host_ports[i].port,
                                             file->host_ports[i].to};
    options.host_ports = ports;
    options.host_port_count = file->host_port_count;
    r = policy_create(&options, all->rules, all->count, ret_policy, err);
    all->count = 0; /* taken, also when it failed */
    free(ports);
    return r;
}

int rules_load(const struct paths *paths, const struct rules_input *input, struct policy **ret_policy,
               struct error **err)
{
    autofree char *path = rules_path(paths, input->project);
    auto(egress) struct egress_file *file = NULL;
    int r = name_check("project", input->project, err);
    if (r < 0 || (r = egress_load(path, KEY_PROJECT, &file, err)) < 0)
        return r;
    struct collection all = {0};
    struct rule_origin origin = {.layer = LAYER_PROJECT, .source = path};
    if ((r = take_masks(&all, file, err)) == 0 && (r = take_presets(&all, paths, input, file, err)) == 0 &&
        (r = check_masks(&all, file, err)) == 0 && (r = take_user(&all, paths, err)) == 0 &&
        (r = take_lines(&all, file->lines, file->line_count, origin, err)) == 0)
        r = make_policy(&all, paths, input, file, ret_policy, err);
    collection_finish(&all);
    return r;
}

static void compose(struct buf *out, const char *project, enum policy_mode mode, const char *const *presets)
{
    buf_printf(out, NULL,
               "# What %s may reach; hutch-rules(5) is the reference.\n\n[egress]\ndefault = %s\n", project,
               policy_mode_name(mode));
    for (size_t i = 0; presets && presets[i]; i++)
        buf_printf(out, NULL, "%s    %s\n", i ? "" : "presets =\n", presets[i]);
}

int rules_write(const struct paths *paths, const char *project, enum policy_mode mode,
                const char *const *presets, struct error **err)
{
    autofree char *path = rules_path(paths, project), *folder = file_join(paths->config, "projects");
    int r = name_check("project", project, err);
    if (r < 0)
        return r;
    if (file_exists(path))
        return error_set(err, ERROR_EXISTS, "%s is there already", path);
    if ((r = file_make_folder(folder, 0700, err)) < 0)
        return r;
    struct buf out;
    buf_init(&out, 0);
    compose(&out, project, mode, presets);
    r = file_replace(path, buf_data(&out), out.len, 0600, err);
    buf_finish(&out);
    return r;
}

/* Whether nobody wrote in a file since rules_write made it. */
static bool as_made(const char *project, const char *data, size_t len)
{
    bool same = false;

    for (enum policy_mode mode = 0; !same && mode <= MODE_OPEN; mode++) {
        struct buf made;
        buf_init(&made, 0);
        compose(&made, project, mode, NULL);
        same = made.len == len && !memcmp(buf_data(&made), data, len);
        buf_finish(&made);
    }
    return same;
}

int rules_forget(const struct paths *paths, const char *project, char **ret_kept, struct error **err)
{
    autofree char *path = rules_path(paths, project), *data = NULL;
    size_t len;

    *ret_kept = NULL;
    if (!file_exists(path))
        return 0;
    if (file_read_regular(path, RULES_MADE_MAX, &data, &len, NULL) == 0 &&
        as_made(project, data, len))
        return unlink(path) < 0 && errno != ENOENT ? error_set_errno(err, errno, "cannot remove %s", path) : 0;
    *ret_kept = steal(&path);
    return 0;
}

/* A rule that a person wrote, for the file of one project or of all. */
static int parse_for(const char *project, const char *text, struct rule **ret_rule, struct error **err)
{
    struct rule_origin origin = {.layer = project ? LAYER_PROJECT : LAYER_USER};
    return rule_parse(text, strlen(text), &origin, ret_rule, err);
}

int rules_add(const struct paths *paths, const char *project, const char *text, struct error **err)
{
    auto(rule) struct rule *rule = NULL;
    int r = project ? name_check("project", project, err) : 0;
    if (r < 0 || (r = parse_for(project, text, &rule, err)) < 0)
        return r;
    autofree char *path = rules_path(paths, project);
    return egress_add(path, project ? KEY_PROJECT : KEY_RULES, (enum egress_effect)rule->effect,
                      rule_item(rule), err);
}

int rules_remove(const struct paths *paths, const char *project, const char *text, struct error **err)
{
    auto(rule) struct rule *rule = NULL;
    auto(egress) struct egress_file *file = NULL;
    autofree char *path = rules_path(paths, project);
    enum key_kind kind = project ? KEY_PROJECT : KEY_RULES;
    int r = project ? name_check("project", project, err) : 0;
    if (r < 0 || (r = parse_for(project, text, &rule, err)) < 0 ||
        (r = egress_load(path, kind, &file, err)) < 0)
        return r;
    for (size_t i = 0; i < file->line_count; i++) {
        auto(rule) struct rule *other = NULL;
        if (parse_for(project, file->lines[i].rule, &other, NULL) == 0 && !strcmp(other->text, rule->text))
            return egress_remove(path, kind, &file->lines[i], err);
    }
    error_set(err, ERROR_NOT_FOUND, "%s has no rule \"%s\"", path, rule->text);
    if (err)
        error_hint(err, "hutch rule ls shows them, and which file each is from");
    return -ERROR_NOT_FOUND;
}

int rules_host_port_check(const struct paths *paths, const char *name, const char *to, uint16_t *port,
                          struct error **err)
{
    int r = egress_host_port_check(name, to, port, err);
    return r < 0 ? r : check_own(paths, name, to, err);
}

int rules_host_port_add(const struct paths *paths, const char *project, const char *name, const char *to,
                        uint16_t port, struct error **err)
{
    autofree char *path = rules_path(paths, project);
    int r = name_check("project", project, err);
    if (r < 0 || (r = rules_host_port_check(paths, name, to, &port, err)) < 0)
        return r;
    return egress_host_port_add(path, name, to, port, err);
}

int rules_host_port_remove(const struct paths *paths, const char *project, const char *name,
                           struct error **err)
{
    autofree char *path = rules_path(paths, project);
    int r = name_check("project", project, err);
    return r < 0 ? r : egress_host_port_remove(path, name, err);
}
