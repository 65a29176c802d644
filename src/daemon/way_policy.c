/* The policy of a way as it changes: by the files of rules, which are watched, and by grants that are taken
 * back. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "daemon/inbox_egress.h"
#include "daemon/way_internal.h"

#include <stdlib.h>
#include <string.h>

#define RELOAD_MS 200 /* files of rules are read when nothing has changed for so long */

static void note_policy(struct way *way, const char *subject, const char *verdict)
{
    auto(error) struct error *err = NULL;
    struct event event = EVENT_INIT;

    event.project = way->id;
    event.kind = "policy";
    event.actor = "hutchd";
    event.subject = subject;
    event.verdict = verdict;
    if (daemon_journal(way->ways->daemon, &event, &err) < 0)
        log_error("%s", err->message);
}

static bool same_host_ports(const struct policy *a, const struct policy *b)
{
    struct policy_host_port x, y;

    for (size_t i = 0;; i++) {
        bool more = policy_host_port(a, i, &x);

        if (more != policy_host_port(b, i, &y))
            return false;
        if (!more)
            return true;
        if (strcmp(x.name, y.name) || strcmp(x.to, y.to) || x.port != y.port)
            return false;
    }
}

/* Same rules, same mode, same ports? Then nothing has changed for anybody. */
static bool same_policy(const struct policy *a, const struct policy *b)
{
    size_t count_a, count_b;
    const struct rule *const *rules_a = policy_rules(a, &count_a), *const *rules_b =
                                                                       policy_rules(b, &count_b);

    if (policy_mode(a) != policy_mode(b) || count_a != count_b)
        return false;
    for (size_t i = 0; i < count_a; i++) {
        if (strcmp(rules_a[i]->id, rules_b[i]->id))
            return false;
    }
    return same_host_ports(a, b);
}

/* Reads the files; what cannot be read leaves the rules of before in force (none at the start: deny all). */
void way_reload(struct way *way)
{
    auto(error) struct error *err = NULL;
    auto(policy) struct policy *policy = NULL;
    auto(proxy) struct proxy *proxy = NULL;
    uint64_t generation = ++way->ways->generation;

    if (way_project_ends(way))
        return;
    /* A proxy that cannot be used is no reason to go around it. */
    if (way_proxy(way->daemon, &proxy, &err) < 0 || way_load(way, generation, &policy, &err) < 0) {
        if (!way->banner || strcmp(way->banner, err->message)) {
            log_warning("project %s: the rules are not taken: %s", way->id, err->message);
            note_policy(way, err->message, "refused");
        }
        free(way->banner);
        way->banner = xstrdup(err->message);
        return;
    }
    free(steal(&way->banner));
    if (!way->policy || !same_policy(way->policy, policy)) {
        size_t count;

        policy_rules(policy, &count);
        autofree char *text = xasprintf("%s, %zu %s", policy_mode_name(policy_mode(policy)), count,
                                        count == 1 ? "rule" : "rules");
        note_policy(way, text, "loaded");
    }
    policy_unref(way->policy);
    way->policy = policy_ref(policy);
    flows_set_proxy(way->flows, proxy);
    flows_set_policy(way_now(way), policy);
    inbox_egress_rules(way->daemon, way->id, policy);
    way_plan(way);
}

void ways_revoke(struct daemon *daemon, const char *id, uint64_t grant)
{
    for (struct way *way = daemon->ways ? daemon->ways->first : NULL; way; way = way->next) {
        if (id && strcmp(way->id, id) != 0)
            continue;
        flows_revoke(way_now(way), grant);
        way_plan(way);
    }
}

void ways_reload(struct daemon *daemon)
{
    for (struct way *way = daemon->ways->first; way; way = way->next)
        way_reload(way);
}

static void on_reload(uv_timer_t *timer)
{
    struct ways *ways = timer->data;

    ways_reload(ways->daemon);
}

static void on_change(uv_fs_event_t *watch, const char *name, int events, int status)
{
    struct ways *ways = watch->data;

    (void)name;
    (void)events;
    (void)status;
    uv_timer_start(&ways->reload, on_reload, RELOAD_MS, 0);
}

static void watch_folder(struct ways *ways, const char *path)
{
    uv_fs_event_t *watch = &ways->watches[ways->watch_count];

    if (uv_fs_event_init(&ways->daemon->loop, watch) < 0)
        return;
    watch->data = ways;
    ways->watch_count++;
    if (uv_fs_event_start(watch, on_change, path, 0) < 0)
        log_warning("\"%s\" cannot be watched: changed rules count after `hutch rule ls`", path);
}

void ways_watch(struct ways *ways)
{
    const struct paths *paths = ways->daemon->paths;
    autofree char *projects = file_join(paths->config, "projects");
    autofree char *presets = file_join(paths->config, "presets");

    if (file_make_folder(projects, 0700, NULL) == 0)
        watch_folder(ways, projects);
    watch_folder(ways, paths->config);
    if (file_make_folder(presets, 0700, NULL) == 0) /* one that comes later would not be seen */
        watch_folder(ways, presets);
}
