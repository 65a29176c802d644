#include "policy/policy.h"

#include "base/alloc.h"
#include "base/text.h"
#include "policy/policy_internal.h"

#include <stdatomic.h>
#include <string.h>

const char *policy_mode_name(enum policy_mode mode)
{
    static const char *const names[] = {"ask", "budget", "deny", "open"};
    return names[mode];
}

int policy_mode_parse(const char *word, enum policy_mode *ret_mode, struct error **err)
{
    static const char *const names[] = {"ask", "budget", "deny", "open", NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(word, names[i])) {
            *ret_mode = (enum policy_mode)i;
            return 0;
        }
    error_set(err, ERROR_INVALID, "\"%s\" is no mode", word);
    const char *near = text_nearest(word, names);
    if (err && near)
        error_hint(err, "did you mean \"%s\"? Modes are ask, budget, deny and open", near);
    else if (err)
        error_hint(err, "modes are ask, budget, deny and open");
    return -ERROR_INVALID;
}

static void policy_free(struct policy *policy)
{
    for (size_t i = 0; i < policy->rule_count; i++)
        rule_free(policy->rules[i]);
    free(policy->rules);
    for (size_t i = 0; i < policy->secret_count; i++)
        free(policy->secrets[i]);
    free(policy->secrets);
    for (size_t i = 0; i < policy->host_port_count; i++) {
        free(policy->host_ports[i].name);
        free(policy->host_ports[i].to);
    }
    free(policy->host_ports);
    index_finish(&policy->index);
    free(policy);
}

struct policy *policy_ref(struct policy *policy)
{
    atomic_fetch_add(&policy->refs, 1);
    return policy;
}

void policy_unref(struct policy *policy)
{
    if (policy && atomic_fetch_sub(&policy->refs, 1) == 1)
        policy_free(policy);
}

uint64_t policy_generation(const struct policy *policy)
{
    return policy->generation;
}

enum policy_mode policy_mode(const struct policy *policy)
{
    return policy->mode;
}

const struct rule *const *policy_rules(const struct policy *policy, size_t *ret_count)
{
    *ret_count = policy->rule_count;
    return (const struct rule *const *)policy->rules;
}

static void copy_options(struct policy *policy, const struct policy_options *options)
{
    policy->generation = options->generation;
    policy->mode = options->mode;
    while (options->secret_hosts && options->secret_hosts[policy->secret_count])
        policy->secret_count++;
    policy->secrets = xnewn(char *, policy->secret_count);
    for (size_t i = 0; i < policy->secret_count; i++)
        policy->secrets[i] = xstrdup(options->secret_hosts[i]);
    policy->host_port_count = options->host_port_count;
    policy->host_ports = xnewn(struct host_port, policy->host_port_count);
    for (size_t i = 0; i < policy->host_port_count; i++) {
        const struct policy_host_port *from = &options->host_ports[i];
        policy->host_ports[i] = (struct host_port){xstrdup(from->name), xstrdup(from->to), from->port};
    }
}

int policy_create(const struct policy_options *options, struct rule *const *rules, size_t rule_count,
                  struct policy **ret_policy, struct error **err)
{
    if (rule_count > POLICY_RULES_MAX) {
        for (size_t i = 0; i < rule_count; i++)
            rule_free(rules[i]);
        return error_set(err, ERROR_LIMIT, "%zu rules, the limit is %d", rule_count, POLICY_RULES_MAX);
    }
    struct policy *policy = xnew(struct policy);
    atomic_init(&policy->refs, 1);
    copy_options(policy, options);
    policy->rules = xnewn(struct rule *, rule_count);
    for (int layer = LAYER_BUILTIN; layer <= LAYER_SESSION; layer++)
        for (size_t i = 0; i < rule_count; i++)
            if ((int)rules[i]->layer == layer)
                policy->rules[policy->rule_count++] = rules[i];
    require(policy->rule_count == rule_count);
    index_init(&policy->index, policy->rules, rule_count);
    *ret_policy = policy;
    return 0;
}

bool policy_host_port(const struct policy *policy, size_t i, struct policy_host_port *ret_port)
{
    if (i >= policy->host_port_count)
        return false;
    const struct host_port *port = &policy->host_ports[i];
    *ret_port = (struct policy_host_port){port->name, port->port, port->to};
    return true;
}
