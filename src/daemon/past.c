#include "daemon/past.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "egress/flow.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_ROWS 250

struct page {
    struct {
        int64_t seq, ts;
        char *data;
    } rows[PAGE_ROWS];
    size_t count;
};

/* A rule and its place in the list. */
struct place {
    const struct rule *rule;
    size_t index;
};

struct judge {
    const struct policy *policy;
    const char *id;
    int64_t now_s;
    struct place *places; /* sorted by address */
    struct past past;
};

static int compare_places(const void *a, const void *b)
{
    const struct rule *one = ((const struct place *)a)->rule, *other = ((const struct place *)b)->rule;

    return one < other ? -1 : one > other;
}

static void add(struct judge *judge, const struct verdict *verdict, uint64_t count, int64_t ts)
{
    const struct place key = {.rule = verdict->rule};
    const struct place *place =
        key.rule ? bsearch(&key, judge->places, judge->past.rule_count, sizeof(key), compare_places) : NULL;

    if (!place) {
        judge->past.other += count;
        return;
    }
    struct past_rule *rule = &judge->past.rules[place->index];
    rule->count += count;
    rule->last_ns = ts > rule->last_ns ? ts : rule->last_ns;
}

/* The connection to an authority, with the head of its request if it had one. */
static void decide(struct judge *judge, const char *authority, const json_t *http, uint64_t count, int64_t ts)
{
    struct request request;
    struct verdict verdict;
    bool parsed = flow_decide(judge->policy, authority, strlen(authority), PROTO_ANY, judge->id, NULL, NULL,
                              0, judge->now_s, &request, &verdict);

    request.method = json_string_value(json_object_get(http, "method"));
    request.path = json_string_value(json_object_get(http, "path"));
    if (parsed && request.method && request.path)
        policy_decide(judge->policy, &request, NULL, 0, &verdict);
    add(judge, &verdict, count, ts);
}

static void judge_row(struct judge *judge, const char *text, int64_t ts)
{
    auto(json) json_t *data = json_parse(text, strlen(text), NULL);
    const json_t *target = json_object_get(data, "req"), *sample;
    const char *host = json_string_value(json_object_get(target, "host"));
    const char *authority = json_string_value(json_object_get(target, "authority"));
    json_int_t port = json_integer_value(json_object_get(target, "port"));
    json_int_t count = json_integer_value(json_object_get(data, "count"));
    size_t i;

    judge->past.rows++;
    json_array_foreach(json_object_get(data, "first"), i, sample)
    {
        const char *what = json_string_value(json_object_get(sample, "what"));

        if (what)
            decide(judge, what, NULL, 1, ts);
    }
    if (!host && !authority)
        return;
    autofree char *written =
        host ? xasprintf(strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, (long long)port)
             : xstrdup(authority);
    decide(judge, written, json_object_get(data, "http"), count > 0 ? (uint64_t)count : 1, ts);
}

static bool take(const struct event *event, void *user)
{
    struct page *page = user;

    page->rows[page->count].seq = event->seq;
    page->rows[page->count].ts = event->ts;
    if (event->data && event->kind &&
        (!strcmp(event->kind, "egress.open") || !strcmp(event->kind, "egress.deny")))
        page->rows[page->count].data = xstrdup(event->data);
    return ++page->count < PAGE_ROWS;
}

/* One page, the newest rows first. Returns whether there may be more. */
static int judge_page(struct judge *judge, struct journal *journal, const char *project, int64_t since_ns,
                      int64_t *before_seq, struct error **err)
{
    struct page *page = xnew(struct page);
    const struct journal_query query = {.project = project,
                                        .kind = "egress",
                                        .since_ts = since_ns,
                                        .before_seq = *before_seq,
                                        .limit = PAGE_ROWS,
                                        .newest = true};
    int rc = journal_select(journal, &query, take, page, err);

    for (size_t i = 0; i < page->count; i++) {
        if (rc == 0 && page->rows[i].data)
            judge_row(judge, page->rows[i].data, page->rows[i].ts);
        free(page->rows[i].data);
    }
    if (rc == 0 && page->count == PAGE_ROWS) {
        *before_seq = page->rows[0].seq;
        rc = 1;
    }
    free(page);
    return rc;
}

int past_count(struct journal *journal, const struct policy *policy, const char *project, const char *id,
               int64_t since_ns, int64_t now_s, const atomic_bool *cancel, struct past *ret_past,
               struct error **err)
{
    struct judge judge = {.policy = policy, .id = id, .now_s = now_s};
    const struct rule *const *rules = policy ? policy_rules(policy, &judge.past.rule_count) : NULL;
    int64_t before_seq = 0;
    int rc = 1;

    judge.past.rules = xnewn(struct past_rule, judge.past.rule_count);
    judge.places = xnewn(struct place, judge.past.rule_count);
    for (size_t i = 0; i < judge.past.rule_count; i++)
        judge.places[i] = (struct place){rules[i], i};
    qsort(judge.places, judge.past.rule_count, sizeof(*judge.places), compare_places);
    for (size_t page = 0; rc > 0 && page < PAST_ROWS / PAGE_ROWS; page++) {
        rc = cancel && *cancel ? error_set(err, ERROR_CANCELLED, "cancelled")
                               : judge_page(&judge, journal, project, since_ns, &before_seq, err);
    }
    free(judge.places);
    if (rc < 0) {
        past_finish(&judge.past);
        return rc;
    }
    *ret_past = judge.past;
    return 0;
}

void past_finish(struct past *past)
{
    free(past->rules);
    *past = (struct past){0};
}
