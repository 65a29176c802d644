#include "policy/suggest.h"

#include "base/alloc.h"
#include "policy/suffix.h"

#include <string.h>

/* A row that passed the first look. */
struct candidate {
    struct request request;
    const struct suggest_row *row;
    const char *domain; /* registrable; points into the request's own text */
};

/* Reasons behind which a missing rule can stand. Not those where a rule or a person has spoken, and no form.
 */
static bool wants_rule(enum reason reason)
{
    switch (reason) {
    case REASON_UNKNOWN:
    case REASON_GRANT:
    case REASON_BUDGET:
    case REASON_BUDGET_NAMES:
    case REASON_OPEN:
    case REASON_MODE_DENY:
    case REASON_WAITING:
    case REASON_NO_UI:
    case REASON_ASK_QUOTA:
    case REASON_TIMEOUT:
        return true;
    default:
        return false;
    }
}

/* A web host by name that no rule decides yet, and that is not for a decision of its own. */
static bool is_candidate(const struct policy *policy, struct candidate *candidate)
{
    const struct suggest_row *row = candidate->row;
    const struct host *host = &candidate->request.host;
    struct verdict verdict;
    enum proto usual = proto_of_port(row->port);
    if (row->uploads || row->private_address || usual == PROTO_TCP ||
        (row->proto != PROTO_ANY && row->proto != usual) || host->kind != HOST_NAME ||
        host_is_reserved(host, NULL) || host_is_floor(host))
        return false;
    candidate->domain = suffix_registrable(host->text);
    if (!candidate->domain)
        return false;
    if (!policy)
        return true;
    policy_decide(policy, &candidate->request, NULL, 0, &verdict);
    return !verdict.rule && verdict.reason != REASON_SECRET && !verdict.uploads;
}

static int compare_text(const char *a, const char *b)
{
    if (!a || !b)
        return a ? -1 : b != NULL; /* without a process: last */
    return strcmp(a, b);
}

static int by_host(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
    int order = strcmp(x->domain, y->domain);
    if (!order)
        order = strcmp(x->request.host.text, y->request.host.text);
    if (!order)
        order = (int)x->request.port - (int)y->request.port;
    return order ? order : compare_text(x->row->process, y->row->process);
}

static int by_process(const void *a, const void *b)
{
    const struct suggestion *x = a, *y = b;
    int order = compare_text(x->process, y->process);
    if (!order && x->count != y->count)
        order = x->count > y->count ? -1 : 1;
    return order ? order : strcmp(x->rule, y->rule);
}

/* How many of sorted[from …] are of the same domain, and how many names they have. */
static size_t domain_run(struct candidate *const *sorted, size_t from, size_t count, size_t *ret_names)
{
    size_t end = from, names = 0;
    for (; end < count && !strcmp(sorted[end]->domain, sorted[from]->domain); end++)
        names +=
            end == from || strcmp(sorted[end]->request.host.text, sorted[end - 1]->request.host.text) != 0;
    *ret_names = names;
    return end - from;
}

/* The rows of one host and port from sorted[0] on become one suggestion; returns how many they are. */
static size_t add_host(struct suggestions *out, struct candidate *const *sorted, size_t count)
{
    struct suggestion made = {0};
    uint64_t best = 0, of_process = 0;
    size_t end = 0;
    for (; end < count && host_equal(&sorted[end]->request.host, &sorted[0]->request.host) &&
           sorted[end]->request.port == sorted[0]->request.port;
         end++) {
        const struct suggest_row *row = sorted[end]->row;
        bool another = end > 0 && compare_text(row->process, sorted[end - 1]->row->process) != 0;
        of_process = another ? row->count : of_process + row->count;
        made.count += row->count;
        if (of_process > best || end == 0) {
            best = of_process;
            made.process = row->process;
        }
    }
    if (out->count == SUGGEST_MAX) {
        out->left_out += end;
        return end;
    }
    char text[REQUEST_RULE_MAX];
    made.rule = xstrdup(request_missing(&sorted[0]->request, text));
    out->items = xrealloc(out->items, out->count + 1, sizeof(made));
    out->items[out->count++] = made;
    return end;
}

void suggest_rules(const struct policy *policy, const struct suggest_row *rows, size_t row_count,
                   struct suggestions *ret_suggestions)
{
    struct suggestions out = {0};
    struct candidate *all = xnewn(struct candidate, row_count);
    struct candidate **sorted = xnewn(struct candidate *, row_count);
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++) {
        struct candidate *candidate = &all[i];
        candidate->row = &rows[i];
        if (!wants_rule(rows[i].reason))
            continue;
        candidate->request.port = rows[i].port;
        if (host_parse(rows[i].host, strlen(rows[i].host), HOST_REQUEST, &candidate->request.host, NULL) <
                0 ||
            !is_candidate(policy, candidate))
            out.left_out++;
        else
            sorted[count++] = candidate;
    }
    qsort(sorted, count, sizeof(struct candidate *), by_host);
    for (size_t i = 0; i < count;) {
        size_t names, run = domain_run(sorted, i, count, &names);
        if (names > SUGGEST_SIBLINGS)
            out.left_out += run;
        for (size_t k = 0; names <= SUGGEST_SIBLINGS && k < run;)
            k += add_host(&out, sorted + i + k, run - k);
        i += run;
    }
    if (out.count)
        qsort(out.items, out.count, sizeof(*out.items), by_process);
    free(sorted);
    free(all);
    *ret_suggestions = out;
}

void suggestions_finish(struct suggestions *suggestions)
{
    for (size_t i = 0; i < suggestions->count; i++)
        free(suggestions->items[i].rule);
    free(suggestions->items);
    *suggestions = (struct suggestions){0};
}
