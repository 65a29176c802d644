/* policy.h: compiled rules of a project and the one function that decides by them. A policy never changes: a
 * reload makes a new one with the next generation, and who still holds the old one keeps it alive. Deciding
 * does no I/O, asks no clock, allocates nothing and is safe on any thread. */
#ifndef HUTCH_POLICY_POLICY_H
#define HUTCH_POLICY_POLICY_H

#include "base/error.h"
#include "policy/grant.h"
#include "policy/reason.h"
#include "policy/request.h"
#include "policy/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_RULES_MAX 100000

/* What happens to what no rule names. */
enum policy_mode { MODE_ASK, MODE_BUDGET, MODE_DENY, MODE_OPEN };
const char *policy_mode_name(enum policy_mode mode); /* "ask", "budget", "deny", "open" */
/* ERROR_INVALID with the nearest word. */
int policy_mode_parse(const char *word, enum policy_mode *ret_mode, struct error **err);

/* [host-port NAME]: reached as NAME.hutch.internal:port, where `to` says. */
struct policy_host_port {
    const char *name;
    uint16_t port;  /* as the guest writes it */
    const char *to; /* "127.0.0.1:5432" or "unix:/path": the caller dials it */
};

struct policy_options {
    uint64_t generation; /* from 1 */
    enum policy_mode mode;
    const char *const *secret_hosts; /* canonical names that a secret is bound to; NULL-ended, or NULL */
    const struct policy_host_port *host_ports;
    size_t host_port_count;
};

struct policy;
/* Compiles rules into an index. Takes the rules (each, not the array) even when it fails; copies the options.
 * No rules: nothing is allowed but by the mode. ERROR_LIMIT beyond POLICY_RULES_MAX. References: 1. */
int policy_create(const struct policy_options *options, struct rule *const *rules, size_t rule_count,
                  struct policy **ret_policy, struct error **err);
struct policy *policy_ref(struct policy *policy);
void policy_unref(struct policy *policy); /* NULL is fine */
AUTO_DEFINE(policy, struct policy *, policy_unref);
uint64_t policy_generation(const struct policy *policy);
enum policy_mode policy_mode(const struct policy *policy);
/* The rules in order of layers, then as they were given: borrowed, as long as the policy. */
const struct rule *const *policy_rules(const struct policy *policy, size_t *ret_count);
/* The i-th host port, as the options had them; its strings are borrowed. false: there are no more. */
bool policy_host_port(const struct policy *policy, size_t i, struct policy_host_port *ret_port);

/* Upload caps of H5, bytes; UINT64_MAX: none. */
struct up_caps {
    uint64_t hour;       /* of this name in any 60 minutes */
    uint64_t connection; /* of one connection */
};
#define UP_CAP_DEFAULT (8ULL << 20)
#define UP_CAP_UPLOADS (1ULL << 20) /* of what others can pick up */

#define VERDICT_PRIVATE_MAX 8 /* ranges: the rule's and those that a person opened one by one */

struct verdict {
    enum verdict_effect effect;
    enum reason reason;
    const struct rule *rule;   /* that decided, borrowed from the policy; or NULL */
    const struct grant *grant; /* that decided, borrowed from the caller; or NULL */
    const char *host_port;     /* where to dial for HOST_PORT, borrowed from the policy; or NULL */
    enum rule_layer layer;     /* of the rule; SESSION of a grant; BUILTIN of the floor, mode and form */
    uint64_t generation;       /* 0 without a policy */
    enum proto proto;          /* how the bytes must be treated; never ANY in an ALLOW or ASK. HTTP: decide
                                * again with each request's head before it is sent on */
    enum address_class class;  /* of FLOOR and PRIVATE */
    bool ech_deny, websocket;
    bool budget;     /* allowed by mode budget: counts against its limits (budget.h) */
    bool uploads;    /* what is sent there can be picked up by others */
    bool needs_head; /* proto is HTTP and no head was given: nothing is sent on before the next decision */
    struct up_caps caps;
    size_t private_count; /* ranges for address_check of what the name resolves to */
    struct cidr private_ranges[VERDICT_PRIVATE_MAX];
    char missing[REQUEST_RULE_MAX]; /* the canonical rule that would allow it; "" where no rule can, or none
                                     * is needed */
};

/* Decides, in this order: floor, form, secret binding, any deny (rule or grant), host ports, the most
 * specific of allow and ask (a tie asks), grants in place of a question, the mode. policy NULL (nothing valid
 * was ever loaded): everything is denied. grants: those that may hold, in any order; they are matched here.
 */
void policy_decide(const struct policy *policy, const struct request *request, const struct grant *grants,
                   size_t grant_count, struct verdict *ret_verdict);
/* The verdict of a request that could not even be parsed, or whose first bytes were wrong. */
void verdict_form(const struct policy *policy, enum reason reason, struct verdict *ret_verdict);
/* After the name was resolved, of an ALLOW: may this address be dialled? If not, false, and effect, reason,
 * class and missing say why: DENY with FLOOR or PRIVATE; ASK with PRIVATE_ASK where a person had allowed the
 * name, as that is a second question. No mode opens a private address. */
bool verdict_check_address(struct verdict *verdict, const struct request *request,
                           const struct address *address, const struct address *own, size_t own_count);

/* Which scopes may be offered for a question (bits 1 << SCOPE_…). Private addresses and raw TCP: once. Sites
 * that take uploads and addresses: once and session. A plain web host by name: all of them. *ret_typed (may
 * be NULL): those for which the host's name must be typed. A denial may have every scope that its request's
 * ids allow. */
unsigned policy_scopes(const struct request *request, const struct verdict *verdict, bool deny,
                       unsigned *ret_typed);

#endif
