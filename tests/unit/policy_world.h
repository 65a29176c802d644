/* policy_world.h: policies and requests of the tests, written as text. */
#ifndef HUTCH_TEST_POLICY_WORLD_H
#define HUTCH_TEST_POLICY_WORLD_H

#include "test_base_scratch.h"

#include "policy/policy.h"

/* Rules of a layer, a line each ("" lines are passed over); more layers by more calls. */
struct world {
    struct rule *rules[512];
    size_t count;
    struct policy_options options;
    struct policy *policy;
};

static inline void world_add(struct world *world, enum rule_layer layer, const char *lines)
{
    struct rule_origin origin = {.layer = layer};
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        auto(error) struct error *err = NULL;
        if (len && rule_parse(lines, len, &origin, &world->rules[world->count], &err) < 0)
            fail_msg("\"%.*s\": %s", (int)len, lines, err->message);
        world->count += len > 0;
        lines += len + (lines[len] == '\n');
    }
}

static inline void world_load(struct world *world)
{
    world->options.generation = world->options.generation ? world->options.generation : 1;
    assert_ok(policy_create(&world->options, world->rules, world->count, &world->policy, &err));
}

/* Project rules in a mode. */
static inline struct policy *policy_of(enum policy_mode mode, const char *lines)
{
    struct world world = {.options = {.mode = mode}};
    world_add(&world, LAYER_PROJECT, lines);
    world_load(&world);
    return world.policy;
}

/* Decides for "host:port" (443 if there is none); what is malformed is a form error, as every entrance has
 * it. */
static inline struct verdict decide(const struct policy *policy, const char *authority)
{
    struct request request;
    struct verdict verdict;
    if (request_parse(authority, strlen(authority), 443, &request, NULL) < 0) {
        verdict_form(policy, REASON_FORM, &verdict);
        return verdict;
    }
    request.project = "p1";
    request.now = 1000;
    policy_decide(policy, &request, NULL, 0, &verdict);
    return verdict;
}

#define assert_reason(policy, authority, want)                                                               \
    do {                                                                                                     \
        struct verdict verdict_ = decide((policy), (authority));                                             \
        if (verdict_.reason != (want) || verdict_.effect != reason_effect(want))                             \
            fail_msg("%s: %s instead of %s", (authority), reason_name(verdict_.reason), reason_name(want));  \
    } while (0)

#endif
