/* decide: decisions a second of a project with 10 000 rules, and of its peer: fnmatch(3) over the same
 * patterns, which is what a proxy with a list of patterns does. One JSON object on stdout. */
#include "base/alloc.h"
#include "policy/policy.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RULES      10000
#define WILD_EVERY 10 /* every tenth is a wildcard */
#define HOSTS      997
#define OURS       500000
#define PEERS      500

static char *patterns[RULES];
static char *hosts[HOSTS];
static struct request requests[HOSTS];

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct policy *make_policy(void)
{
    static const struct rule_origin origin = {.layer = LAYER_PROJECT};
    const struct policy_options options = {.generation = 1, .mode = MODE_DENY};
    static struct rule *rules[RULES];
    struct policy *policy = NULL;

    for (size_t i = 0; i < RULES; i++) {
        patterns[i] = xasprintf(i % WILD_EVERY ? "h%zu.example" : "*.w%zu.example", i);
        autofree char *text = xasprintf("allow %s", patterns[i]);
        if (rule_parse(text, strlen(text), &origin, &rules[i], NULL) < 0)
            return NULL;
    }
    return policy_create(&options, rules, RULES, &policy, NULL) < 0 ? NULL : policy;
}

/* Hosts of all kinds: named by a rule, under a wildcard, and by none. */
static void make_hosts(void)
{
    for (size_t i = 0; i < HOSTS; i++) {
        size_t at = i * (RULES / HOSTS);

        hosts[i] = i % 3 == 0   ? xasprintf("h%zu.example", at + (at % WILD_EVERY == 0))
                   : i % 3 == 1 ? xasprintf("a.w%zu.example", at - at % WILD_EVERY)
                                : xasprintf("n%zu.test", at);
        request_parse(hosts[i], strlen(hosts[i]), 443, &requests[i], NULL);
    }
}

int main(void)
{
    auto(policy) struct policy *policy = make_policy();
    struct verdict verdict;
    size_t allowed = 0, matched = 0;

    if (!policy)
        return 1;
    make_hosts();
    double start = seconds();
    for (size_t i = 0; i < OURS; i++) {
        policy_decide(policy, &requests[i % HOSTS], NULL, 0, &verdict);
        allowed += verdict.reason == REASON_RULE_ALLOW;
    }
    double ours = OURS / (seconds() - start);
    start = seconds();
    for (size_t i = 0; i < PEERS; i++) {
        size_t k = 0;

        while (k < RULES && fnmatch(patterns[k], hosts[i % HOSTS], 0) != 0)
            k++;
        matched += k < RULES;
    }
    double peer = PEERS / (seconds() - start);
    printf("{\"rules\": %d, \"ours\": %.0f, \"peer\": %.0f, \"allowed\": %.3f, \"matched\": %.3f}\n", RULES,
           ours, peer, (double)allowed / OURS, (double)matched / PEERS);
    for (size_t i = 0; i < RULES; i++)
        free(patterns[i]);
    for (size_t i = 0; i < HOSTS; i++)
        free(hosts[i]);
    return 0;
}
