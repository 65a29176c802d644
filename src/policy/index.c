/* The index of a policy: a decision looks at the rules of a host and of its parent domains, not at all of
 * them. */
#include "policy/policy_internal.h"

#include "base/alloc.h"

#include <string.h>

#define WHOLE_ADDRESS 255 /* in place of a prefix length */

/* FNV-1a. What is hashed into the table comes from the user's rules; a guest can only look up. */
static uint64_t hash_bytes(const void *data, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3ULL;
    return hash ^ hash >> 32;
}

static uint64_t hash_address(const struct address *address, uint8_t length)
{
    uint8_t key[18] = {address->family, length};
    memcpy(key + 2, address->bytes, 16);
    return hash_bytes(key, sizeof(key));
}

static uint64_t hash_rule(const struct rule *rule)
{
    switch (rule->target) {
    case TARGET_CIDR:
        return hash_address(&rule->cidr.base, rule->cidr.length);
    case TARGET_ADDRESS:
        return hash_address(&rule->host.address, WHOLE_ADDRESS);
    default:
        return hash_bytes(rule->host.text, rule->host.len);
    }
}

struct pair {
    uint64_t hash;
    uint32_t rule;
};

static int compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static void add_run(struct index *index, uint64_t hash, uint32_t first, uint32_t count)
{
    size_t at = hash & index->mask;
    while (index->runs[at].count)
        at = (at + 1) & index->mask;
    index->runs[at] = (struct index_run){hash, first, count};
}

void index_init(struct index *index, struct rule *const *rules, size_t count)
{
    size_t slots = 16;
    while (slots < count * 2)
        slots *= 2;
    *index = (struct index){.runs = xnewn(struct index_run, slots), .mask = slots - 1};
    index->order = xnewn(uint32_t, count);
    struct pair *pairs = xnewn(struct pair, count);
    for (size_t i = 0; i < count; i++) {
        pairs[i] = (struct pair){hash_rule(rules[i]), (uint32_t)i};
        if (rules[i]->target == TARGET_CIDR)
            index->lengths[rules[i]->cidr.base.family == 6][rules[i]->cidr.length] = true;
    }
    qsort(pairs, count, sizeof(*pairs), compare);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        for (; end < count && pairs[end].hash == pairs[i].hash; end++)
            index->order[end] = pairs[end].rule;
        add_run(index, pairs[i].hash, (uint32_t)i, (uint32_t)(end - i));
        i = end;
    }
    free(pairs);
}

void index_finish(struct index *index)
{
    free(index->runs);
    free(index->order);
}

static void visit_hash(const struct index *index, uint64_t hash, void (*visit)(void *user, uint32_t rule),
                       void *user)
{
    for (size_t at = hash & index->mask; index->runs[at].count; at = (at + 1) & index->mask) {
        const struct index_run *run = &index->runs[at];
        if (run->hash != hash)
            continue;
        for (uint32_t i = 0; i < run->count; i++)
            visit(user, index->order[run->first + i]);
        return;
    }
}

void index_visit(const struct index *index, const struct host *host, void (*visit)(void *user, uint32_t rule),
                 void *user)
{
    if (host->kind != HOST_NAME) {
        visit_hash(index, hash_address(&host->address, WHOLE_ADDRESS), visit, user);
        struct cidr range = {.base = host->address};
        for (int length = host->address.family == 6 ? 128 : 32; length >= 0; length--) {
            if (length < 128)
                range.base.bytes[length / 8] &= (uint8_t)(0xff00 >> length % 8);
            if (index->lengths[host->address.family == 6][length])
                visit_hash(index, hash_address(&range.base, (uint8_t)length), visit, user);
        }
        return;
    }
    for (const char *name = host->text; name; name = strchr(name, '.'), name = name ? name + 1 : NULL)
        visit_hash(index, hash_bytes(name, host->len - (size_t)(name - host->text)), visit, user);
    visit_hash(index, hash_bytes("", 0), visit, user);
}
