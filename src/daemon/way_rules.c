/* The rules of a project: reading, showing, changing, testing, suggesting. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "conf/egress.h"
#include "conf/ini.h"
#include "conf/template.h"
#include "daemon/way_internal.h"
#include "policy/suggest.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

#define SUGGEST_ROWS 5000 /* newest rows of the journal that are looked at */

/* ---- reading ---- */

/* Name of a project; false: it is gone. Caller frees. */
static bool project_word(struct daemon *daemon, const char *id, char **ret_name)
{
    struct project *project = projects_lock(daemon->projects, id);

    if (!project)
        return false;
    *ret_name = xstrdup(project->r.name);
    projects_unlock(daemon->projects);
    return true;
}

bool way_project_ends(const struct way *way)
{
    struct project *project = projects_lock(way->daemon->projects, way->id);
    bool ends = !project || step_operation(project->r.step) == OPERATION_REMOVE;

    if (project)
        projects_unlock(way->daemon->projects);
    return ends;
}

/* The base of a project says where its packages come from; NULL: there is none yet. One that is older than
 * the question gives the notice. */
static struct base *project_base(struct way *way, const char *digest)
{
    struct base *base = NULL;

    free(steal(&way->notice));
    if (!*digest || base_find(way->daemon->paths, digest, &base, NULL) < 0)
        return NULL;
    if (!base->package_host_count)
        way->notice = xasprintf("the base of this machine was built before its package hosts were recorded: "
                                "presets such as \"debian\" give nothing (`hutch template build %s` makes a "
                                "base for new projects; `hutch rule add` names a host for this one)",
                                base->template_name);
    return base;
}

int way_load(struct way *way, uint64_t generation, struct policy **ret_policy, struct error **err)
{
    static const char *const fallback[] = {"debian", NULL};
    struct rules_guest_host hosts[2 * RULES_GUEST_MAX];
    struct project *project = projects_lock(way->daemon->projects, way->id);

    if (!project)
        return error_set(err, ERROR_NOT_FOUND, "the project is gone");
    autofree char *name = xstrdup(project->r.name);
    autofree char *template_name = xstrdup(project->r.template);
    autofree char *digest = xstrdup(project->r.base);
    projects_unlock(way->daemon->projects);
    auto(base) struct base *base = project_base(way, digest);
    auto(template) struct template *template = NULL;
    bool known = template_load(way->daemon->paths, template_name, &template, NULL) == 0;
    struct rules_input input = {
        .project = name,
        .presets = known ? (const char *const *)template->presets : fallback,
        .guest_hosts = hosts,
        .guest_host_count = way_guest_hosts(way, base, hosts, countof(hosts)),
        .generation = generation,
    };
    return rules_load(way->daemon->paths, &input, ret_policy, err);
}

void way_make_file(struct daemon *daemon, const char *id)
{
    autofree char *name = NULL;
    auto(error) struct error *err = NULL;

    if (project_word(daemon, id, &name) && rules_write(daemon->paths, name, MODE_ASK, NULL, &err) < 0 &&
        err->code != ERROR_EXISTS)
        log_error("%s", err->message);
}

int way_begin(struct daemon *daemon, const char *name, const char *word, struct error **err)
{
    autofree char *path = rules_path(daemon->paths, name);
    auto(egress) struct egress_file *file = NULL;
    enum policy_mode mode;
    int rc = policy_mode_parse(word, &mode, err);

    if (rc == 0 && !file_exists(path))
        return rules_write(daemon->paths, name, mode, NULL, err);
    if (rc == 0)
        rc = egress_load(path, KEY_PROJECT, &file, err);
    if (rc < 0 || (file->mode && !strcmp(file->mode, word)))
        return rc;
    error_set(err, ERROR_EXISTS, "\"%s\" is there already and says \"default = %s\"", path,
              file->mode ? file->mode : "ask");
    return error_hint(err, "edit or remove it, or leave the mode out");
}

int way_same(struct daemon *daemon, const char *id, const char *word, struct error **err)
{
    auto(egress) struct egress_file *file = NULL;
    struct record r = {0};
    enum policy_mode mode;
    int rc = policy_mode_parse(word, &mode, err);

    if (rc < 0 || !projects_record(daemon->projects, id, &r))
        return rc;
    autofree char *path = rules_path(daemon->paths, r.name);
    if (file_exists(path))
        rc = egress_load(path, KEY_PROJECT, &file, err);
    const char *now = file && file->mode ? file->mode : way_mode(daemon, id);
    if (rc == 0 && now && strcmp(now, word) != 0) {
        error_set(err, ERROR_EXISTS,
                  "\"%s\" is there already with \"default = %s\"; its mode is not changed to %s", r.name, now,
                  word);
        rc = error_hint(
            err, "write \"default = %s\" under [egress] in \"%s\", it counts at once; or leave the mode out",
            word, path);
    }
    record_finish(&r);
    return rc;
}

/* ---- showing and testing ---- */

static const struct hit *hit_of(const struct way *way, const char *id)
{
    for (size_t i = 0; i < way->hit_count; i++)
        if (!strcmp(way->hits[i].rule, id))
            return &way->hits[i];
    return NULL;
}

/* Behind the rules: answers that hold without being one. */
static void add_grants(struct way *way, json_t *list)
{
    auto(json) json_t *grants = inbox_grants_show(way->daemon, way->id);
    json_t *row;
    size_t i;

    json_array_foreach(grants, i, row)
    {
        const struct hit *hit = hit_of(way, json_string_value(json_object_get(row, "id")));

        if (hit) {
            json_object_set_new(row, "hits", json_integer((json_int_t)hit->count));
            json_object_set_new(row, "last_ns", json_integer(hit->last_ns));
        }
    }
    json_array_extend(list, grants);
}

json_t *way_rules(struct way *way)
{
    json_t *list = json_array();
    size_t count = 0;
    const struct rule *const *rules = way->policy ? policy_rules(way->policy, &count) : NULL;

    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = rules[i];
        const struct hit *hit = hit_of(way, rule->id);
        json_t *row =
            json_pack("{s:s, s:s, s:s*, s:i, s:s, s:s, s:I, s:I}", "id", rule->id, "layer",
                      rule_layer_name(rule->layer), "source", rule->source, "line", rule->line, "text",
                      rule->text, "decision", rule_effect_name(rule->effect), "hits",
                      (json_int_t)(hit ? hit->count : 0), "last_ns", (json_int_t)(hit ? hit->last_ns : 0));
        require(row);
        json_array_append_new(list, row);
    }
    add_grants(way, list);
    return list;
}

json_t *way_test(struct way *way, const char *authority, const char *session)
{
    struct request request;
    struct verdict verdict;
    const struct grant *grants;
    size_t count = inbox_grants_list(way->daemon, &grants);
    bool parsed = flow_decide(way->policy, authority, strlen(authority), PROTO_ANY, way->id, session, grants,
                              count, units_now_ns() / 1000000000, &request, &verdict);

    return way_show_verdict(parsed ? &request : NULL, &verdict);
}

/* ---- changing ---- */

char *way_project_name(struct way *way, struct error **err)
{
    char *name = NULL;

    if (!project_word(way->daemon, way->id, &name))
        error_set(err, ERROR_NOT_FOUND, "the project was removed meanwhile");
    return name;
}

/* The row before a rule is written or taken out. */
static int note_change(struct way *way, const char *kind, const char *text, bool all, struct error **err)
{
    autofree char *subject = xasprintf("%s%s", text, all ? " (all projects)" : "");

    return daemon_note(way->daemon, way->id, kind, subject, err);
}

int way_rule_add(struct way *way, const char *text, bool all, json_t **ret_json, struct error **err)
{
    const struct rule_origin origin = {.layer = all ? LAYER_USER : LAYER_PROJECT};
    autofree char *name = way_project_name(way, err);
    auto(rule) struct rule *rule = NULL;

    if (!name)
        return -ERROR_NOT_FOUND;
    int rc = rule_parse(text, strlen(text), &origin, &rule, err);
    if (rc == 0)
        rc = note_change(way, "policy.add", rule->text, all, err);
    if (rc == 0)
        rc = rules_add(way->daemon->paths, all ? NULL : name, rule->text, err);
    if (rc < 0)
        return rc;
    ways_reload(way->daemon);
    *ret_json = json_pack("{s:s, s:s, s:s*}", "id", rule->id, "text", rule->text, "problem", way->banner);
    return 0;
}

/* The rule of an id or a text, the project's own (all: that of all projects) before others. */
static const struct rule *find_rule(const struct way *way, const char *word, bool all)
{
    size_t count = 0;
    const struct rule *const *rules = way->policy ? policy_rules(way->policy, &count) : NULL;
    const struct rule *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(rules[i]->text, word) != 0 && strcmp(rules[i]->id, word) != 0)
            continue;
        if (!all || !found || rules[i]->layer == LAYER_USER)
            found = rules[i]; /* the project's come last */
    }
    return found;
}

/* A rule of another layer is not taken out by this. */
static int check_layer(const struct rule *rule, bool all, struct error **err)
{
    static const char *const ways_out[] = {
        [LAYER_BUILTIN] = "it is built in",
        [LAYER_PRESET] = "a line \"-TARGET\" under presets of the project's file takes it out",
        [LAYER_USER] = "it counts for every project: --all takes it out",
        [LAYER_PROJECT] = "it is the project's own: leave --all out",
        [LAYER_SESSION] = "it ends by itself"};

    if (rule->layer == (all ? LAYER_USER : LAYER_PROJECT))
        return 0;
    error_set(err, ERROR_STATE, "\"%s\" stands in \"%s\"", rule->text, rule->source ? rule->source : "hutch");
    return error_hint(err, "%s", ways_out[rule->layer]);
}

int way_rule_remove(struct way *way, const char *word, bool all, struct error **err)
{
    autofree char *name = way_project_name(way, err);
    size_t revoked = 0;
    int rc = 0;

    if (!name)
        return -ERROR_NOT_FOUND;
    ways_reload(way->daemon);
    const struct rule *rule = find_rule(way, word, all);
    bool own = rule && rule->layer == (all ? LAYER_USER : LAYER_PROJECT);
    if (!own && !all && (rc = inbox_grants_revoke(way->daemon, way->id, word, &revoked, err)) < 0)
        return rc;
    if (revoked)
        return 0;
    if (rule && (rc = check_layer(rule, all, err)) < 0)
        return rc;
    autofree char *text = xstrdup(rule ? rule->text : word);
    rc = note_change(way, "policy.remove", text, all, err);
    if (rc == 0)
        rc = rules_remove(way->daemon->paths, all ? NULL : name, text, err);
    ways_reload(way->daemon);
    return rc;
}

/* ---- suggesting ---- */

struct gathered {
    struct suggest_row rows[SUGGEST_ROWS];
    char *hosts[SUGGEST_ROWS];
    size_t count;
};

static bool gather(const struct event *event, void *user)
{
    struct gathered *gathered = user;
    auto(json) json_t *data = event->data ? json_parse(event->data, strlen(event->data), NULL) : NULL;
    const json_t *target = json_object_get(data, "req");
    const char *host = json_string_value(json_object_get(target, "host"));
    const char *reason = json_string_value(json_object_get(data, "reason"));

    if (!host || !reason || gathered->count == SUGGEST_ROWS)
        return true;
    enum reason code = reason_from_name(reason);
    if (code == REASON_COUNT)
        return true;
    json_int_t port = json_integer_value(json_object_get(target, "port"));
    json_int_t count = json_integer_value(json_object_get(data, "count"));
    gathered->hosts[gathered->count] = xstrdup(host);
    gathered->rows[gathered->count] = (struct suggest_row){
        .host = gathered->hosts[gathered->count],
        .port = (uint16_t)port,
        .reason = code,
        .count = count > 0 ? (uint64_t)count : 1,
        .private_address = code == REASON_PRIVATE,
    };
    gathered->count++;
    return true;
}

json_t *way_suggest(struct way *way)
{
    struct gathered *gathered = xnew(struct gathered);
    autofree char *name = NULL;
    struct suggestions suggestions = {0};
    json_t *list = json_array();

    project_word(way->daemon, way->id, &name);
    const struct journal_query query = {
        .project = name, .kind = "egress", .limit = SUGGEST_ROWS, .newest = true};
    if (name)
        journal_select(way->daemon->journal, &query, gather, gathered, NULL);
    suggest_rules(way->policy, gathered->rows, gathered->count, &suggestions);
    for (size_t i = 0; i < suggestions.count; i++)
        json_array_append_new(list, json_pack("{s:s, s:I}", "rule", suggestions.items[i].rule, "count",
                                              (json_int_t)suggestions.items[i].count));
    suggestions_finish(&suggestions);
    for (size_t i = 0; i < gathered->count; i++)
        free(gathered->hosts[i]);
    free(gathered);
    return list;
}
