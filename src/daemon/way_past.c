/* The rules of a project with what each would have decided of the connections that the journal remembers:
 * counted by a job. */
#include "base/alloc.h"
#include "base/units.h"
#include "daemon/past.h"
#include "daemon/way_internal.h"

#include <stdlib.h>
#include <string.h>

struct past_params {
    struct policy *policy; /* or NULL */
    char id[PROJECT_ID_MAX];
    char *name;
    int64_t since_ns;
    json_t *rules;  /* as way_rules has them, those of the policy first */
    json_t *result; /* the last line */
};

static void free_params(void *user)
{
    struct past_params *params = user;

    policy_unref(params->policy);
    free(params->name);
    json_decref(params->rules);
    json_decref(params->result);
    free(params);
}

static int run(struct job *job, void *user, json_t **ret_result, struct error **err)
{
    struct past_params *params = user;
    struct past past = {0};
    json_t *rule;
    size_t i;
    int rc = past_count(job_daemon(job)->journal, params->policy, params->name, params->id, params->since_ns,
                        units_now_ns() / 1000000000, job_cancel_flag(job), &past, err);

    if (rc < 0)
        return rc;
    json_array_foreach(params->rules, i, rule)
    {
        if (i < past.rule_count) {
            json_object_set_new(rule, "past", json_integer((json_int_t)past.rules[i].count));
            json_object_set_new(rule, "past_ns", json_integer(past.rules[i].last_ns));
        }
        job_line(job, json_incref(rule));
    }
    json_object_set_new(params->result, "past_rows", json_integer((json_int_t)past.rows));
    json_object_set_new(params->result, "past_other", json_integer((json_int_t)past.other));
    *ret_result = json_incref(params->result);
    past_finish(&past);
    return 0;
}

static const struct job_kind past_kind = {
    .name = "rules-past", .run = run, .free_params = free_params, .quiet = true};

struct job *way_rules_past(struct way *way, json_t *result)
{
    struct past_params *params = xnew(struct past_params);
    autofree char *lane = xasprintf("rules:%s", way->id);
    struct record r = {0};
    int64_t bound = units_now_ns() - PAST_NS;

    params->policy = way->policy ? policy_ref(way->policy) : NULL;
    params->rules = way_rules(way);
    params->result = result;
    params->since_ns = bound;
    memcpy(params->id, way->id, sizeof(params->id));
    if (projects_record(way->daemon->projects, way->id, &r)) {
        params->name = xstrdup(r.name);
        params->since_ns = r.created_ns > bound ? r.created_ns : bound;
        record_finish(&r);
    } else {
        params->name = xstrdup(way->id); /* it is being removed: no row has this name */
    }
    return job_submit(way->daemon->jobs, lane, &past_kind, params);
}
