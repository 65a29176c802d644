#include "cli/request.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"

#include <string.h>

/* A word of hutchd's for which there is a translation. */
static const char *word_of(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return out_word(words[i]);
    return word;
}

const char *request_class(const json_t *request)
{
    static const char *const words[] = {N_("routine"), N_("unusual"), N_("critical")};
    return word_of(words, countof(words), out_string(request, "class"));
}

const char *request_state(const json_t *request)
{
    static const char *const words[] = {N_("held"),    N_("frozen"), N_("waiting"),
                                        N_("allowed"), N_("denied"), N_("gone")};
    return word_of(words, countof(words), out_string(request, "state"));
}

char *request_age(const json_t *request)
{
    int64_t seconds = (units_now_ns() - out_number(request, "asked_ns", 0)) / 1000000000;
    char duration[UNITS_DURATION_MAX];
    return xstrdup(units_format_duration(seconds < 0 ? 0 : (uint64_t)seconds, duration));
}

/* "key       value", nothing for an empty value. All of the value is shown. */
static void line(const char *key, const char *value)
{
    autofree char *safe = text_safe(value);
    const char *word = out_word(key);
    size_t columns;
    if (!safe || !*safe)
        return;
    text_clip(word, strlen(word), SIZE_MAX, &columns);
    out_text("  %s%*s %s\n", word, columns < 10 ? (int)(10 - columns) : 0, "", safe);
}

/* A time of the journal; that nobody has looked is "unknown", never "never". */
static void print_time(const json_t *site, const char *key, const char *field, const char *never)
{
    const json_t *value = json_object_get(site, field);
    autofree char *time = json_is_integer(value) ? out_time(out_number(site, field, 0)) : NULL;
    line(key, time ? time : json_is_null(value) ? out_word(never) : out_word(N_("unknown")));
}

/* What the host is: who can read there, when it was reached first, what is odd about its name. */
static void print_site(const json_t *fields)
{
    const json_t *site = json_object_get(fields, "site");
    if (!json_is_object(site))
        return;
    line(N_("host"), out_string(site, "host"));
    line(N_("reads as"), out_string(site, "decoded"));
    line(N_("belongs to"), out_string(site, "registrable"));
    line(N_("warning"), out_string(site, "warning"));
    line(N_("uploads"), json_is_true(json_object_get(site, "uploads"))
                            ? out_word(N_("yes: others can pick up what is sent there"))
                            : out_word(N_("not known for it")));
    print_time(site, N_("first seen"), "seen_ns", N_("never before in this project"));
    if (json_is_integer(json_object_get(site, "last_ns")))
        print_time(site, N_("last seen"), "last_ns", "");
    print_time(site, N_("elsewhere"), "elsewhere_ns", N_("never from another project"));
}

static void print_limits(const json_t *fields)
{
    char size[UNITS_SIZE_MAX];
    int64_t cap = out_number(fields, "cap_hour", -1), sent = out_number(fields, "sent", 0);
    if (cap >= 0) {
        autofree char *text = xasprintf(out_word(N_("%s an hour")), units_format_size((uint64_t)cap, size));
        line(N_("limit"), text);
    }
    if (sent > 0)
        line(N_("sent"), units_format_size((uint64_t)sent, size));
}

/* What each answer does. */
static void print_answers(const json_t *request)
{
    const json_t *answers = json_object_get(request, "answers"), *answer;
    size_t i;
    json_array_foreach(answers, i, answer)
    {
        autofree char *verdict = text_safe(out_string(answer, "verdict"));
        autofree char *scope = text_safe(out_string(answer, "scope"));
        autofree char *does = text_safe(out_string(answer, "does"));
        const char *typed = strcmp(scope, "duration") ? scope : "2h"; /* what --for takes for it */
        autofree char *how = xasprintf("%s%s%s", verdict, *typed ? " --for " : "", typed);
        out_text("  %-22s %s\n", how, does);
    }
}

/* What the machine says of the program that asks. */
static void print_claim(const json_t *fields)
{
    const json_t *claim = json_object_get(fields, "claim"), *argv = json_object_get(claim, "argv"), *word;
    autofree char *command = xstrdup("");
    size_t i;
    out_text("  ---- %s\n", out_word(N_("the VM says so, nobody has checked it:")));
    if (!json_is_true(json_object_get(claim, "known"))) {
        line(N_("program"), out_word(N_("unknown")));
        return;
    }
    json_array_foreach(argv, i, word)
    {
        char *longer = xasprintf("%s%s%s", command, i ? " " : "", json_string_value(word));
        free(command);
        command = longer;
    }
    line(N_("program"), out_string(claim, "exe"));
    line(N_("command"), command);
    if (json_is_true(json_object_get(claim, "cut")))
        line(N_("warning"), out_word(N_("the command is longer than what is shown")));
    if (json_is_true(json_object_get(claim, "suspicious")))
        line(N_("warning"), out_word(N_("it has characters that are not what they look like")));
    autofree char *ids = xasprintf("%lld, uid %lld", (long long)out_number(claim, "pid", 0),
                                   (long long)out_number(claim, "uid", -1));
    line(N_("process"), ids);
    line(N_("folder"), out_string(claim, "cwd"));
    line(N_("session"), out_string(claim, "session"));
}

/* The program's own words, last and between marks. */
static void print_says(const json_t *fields)
{
    const char *says = out_string(fields, "says");
    autofree char *safe = text_safe(says);
    autofree char *marked = xasprintf("\"%s\"", safe);
    if (*says)
        line(N_("VM says"), marked);
}

/* What a push brings; first what tools of the host would run or obey. */
static void print_push(const json_t *fields)
{
    const json_t *list = json_object_get(fields, "persistence"), *item;
    int64_t more = out_number(fields, "persistence_more", 0);
    autofree char *size = xasprintf(
        out_word(N_("%lld commits, %lld files, +%lld -%lld")), (long long)out_number(fields, "commits", 0),
        (long long)out_number(fields, "files", 0), (long long)out_number(fields, "insertions", 0),
        (long long)out_number(fields, "deletions", 0));
    size_t i;

    json_array_foreach(list, i, item)
    {
        autofree char *text = xasprintf("%s (%s, %s)", out_string(item, "path"), out_string(item, "class"),
                                        out_string(item, "change"));
        line(N_("runs here"), text);
    }
    if (more > 0) {
        autofree char *text = xasprintf(out_word(N_("%lld more")), (long long)more);
        line(N_("runs here"), text);
    }
    line(N_("unread"), out_string(fields, "unread"));
    line(N_("branch"), out_string(fields, "branch"));
    line(N_("tag"), out_string(fields, "tag"));
    line(N_("brings"), size);
    line(N_("tip"), out_string(fields, "new"));
    if (json_is_true(json_object_get(fields, "forced")))
        line(N_("forced"), out_word(N_("it takes back commits that were pushed before")));
}

void request_print(const json_t *request)
{
    bool push = strcmp(out_string(request, "kind"), "PUSH") == 0;
    const json_t *fields = json_object_get(request, "fields");
    autofree char *kind = out_member(request, "kind");
    autofree char *subject = text_safe(out_string(request, "subject"));
    autofree char *project = out_member(request, "project");
    autofree char *age = request_age(request);
    long long attempts = (long long)out_number(request, "attempts", 1);
    autofree char *asked = attempts == 1 ? xasprintf(out_word(N_("%s ago, once")), age)
                                         : xasprintf(out_word(N_("%s ago, %lld times")), age, attempts);
    out_text("#%lld  %s %s  (%s)\n", (long long)out_number(request, "id", 0), kind, subject,
             request_class(request));
    line(N_("project"), project);
    line(N_("protocol"), out_string(fields, "proto"));
    line(N_("request"), out_string(fields, "method"));
    line(N_("path"), out_string(fields, "path"));
    if (push)
        print_push(fields);
    else
        print_site(fields);
    line(N_("means"), out_string(request, "consequence"));
    line(N_("asked"), asked);
    line(N_("why"), out_string(fields, "asks"));
    line(N_("rule"), out_string(fields, "rule"));
    line(N_("address"), out_string(fields, "class"));
    line(N_("missing"), out_string(fields, "rule_missing"));
    print_limits(fields);
    line(N_("state"), request_state(request));
    line(N_("failed"), out_string(request, "failed"));
    line(N_("way back"), out_word(push ? N_("delete the branch that it lands as")
                                       : N_("none: what was sent cannot be taken back")));
    line(N_("by"), out_string(request, "by"));
    line(N_("words"), out_string(request, "reason"));
    print_answers(request);
    if (json_object_get(fields, "claim"))
        print_claim(fields);
    print_says(fields);
}
