#include "tests/screen/hostile.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <string.h>

#define LONG_MAX_BYTES 40000 /* past every limit of a member that is shown */

uint64_t hostile_next(uint64_t *seed, uint64_t most)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return most ? *seed % most : 0;
}

static const char *const texts[] = {
    "shop",
    "api",
    "",
    "npm test -- packages/api",
    "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]52;c;cm0gLXJm\x1b\\",
    "\xc2\x9b"
    "2J\xc2\x9d"
    "0;t\xc2\x9c",
    "a\rb\bc\td\ne\x7f",
    "\u202egnp.exe\u2066\u2067\u2068\u2069\u202a\u200e\u061c",
    "\u200b\u200d\ufeff\u00ad\u2028\u3164\u1160\U000e0100",
    "\u4e2d\u6587\u5b57\u7b26\uff21\u30a2\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301z",
    "\u0301\u20dd\u0e47",
    "%s%n%d {project} {session}",
    "xn--gthub-n4a.com",
    "g\u0456thub.com",
    "'; rm -rf / #",
    "../../etc/passwd",
    "10.20.0.7",
    "[fe80::1%eth0]",
    "wide\u3000\u3000\u3000end",
};

const char *hostile_text(uint64_t *seed)
{
    static char lengthy[LONG_MAX_BYTES];
    if (hostile_next(seed, 300))
        return texts[hostile_next(seed, countof(texts))];
    size_t room = hostile_next(seed, sizeof(lengthy)), len = 0;
    const char *piece = texts[hostile_next(seed, countof(texts))];
    size_t part = strlen(piece);
    while (part && len + part < room) {
        memcpy(lengthy + len, piece, part);
        len += part;
    }
    lengthy[len] = 0;
    return lengthy;
}

static json_t *number(uint64_t *seed)
{
    static const json_int_t table[] = {0,
                                       1,
                                       -1,
                                       2,
                                       80,
                                       443,
                                       100000,
                                       INT64_MAX,
                                       INT64_MIN,
                                       INT64_MAX - 1,
                                       INT32_MAX,
                                       INT32_MIN,
                                       UINT32_MAX,
                                       INT64_C(1) << 62,
                                       1795961000000000000,
                                       -1795961000000000000};
    return json_integer(hostile_next(seed, 3) ? (json_int_t)hostile_next(seed, 5000)
                                              : table[hostile_next(seed, countof(table))]);
}

/* A value of any type. */
static json_t *any(uint64_t *seed, int depth)
{
    switch (hostile_next(seed, depth > 3 ? 6 : 8)) {
    case 0:
        return json_null();
    case 1:
        return json_true();
    case 2:
        return json_false();
    case 3:
        return json_real(1e300);
    case 4:
        return number(seed);
    case 5:
        return json_string(hostile_text(seed));
    case 6: {
        json_t *array = json_array();
        for (uint64_t i = hostile_next(seed, 6); i-- > 0;)
            json_array_append_new(array, any(seed, depth + 1));
        return array;
    }
    default: {
        json_t *object = json_object();
        for (uint64_t i = hostile_next(seed, 6); i-- > 0;)
            json_object_set_new(object, texts[hostile_next(seed, 4)], any(seed, depth + 1));
        return object;
    }
    }
}

/* Members: name, then what it usually holds: "s" text, "n" number, "b" yes or no, "o" an object of all
 * members, "a" a list of such, "w" a list of texts, else one of the words with blanks between. */
static const struct {
    const char *name, *holds;
} members[] = {
    {"id", "n"},
    {"name", "shop api docs web demo"},
    {"project", "shop api docs web demo"},
    {"state", "run off saved frozen paused starting stopping failed gone new running exited lost ask relay"},
    {"template", "s"},
    {"doing", "s"},
    {"failure", "s"},
    {"folder", "s"},
    {"egress", "s"},
    {"waiting", "n"},
    {"net_rate", "n"},
    {"frozen_for", "n"},
    {"budget_used", "n"},
    {"disk", "n"},
    {"disk_size", "n"},
    {"memory", "n"},
    {"cpus", "n"},
    {"created_ns", "n"},
    {"accel", "kvm emulated"},
    {"vm", "o"},
    {"guest", "o"},
    {"up_ms", "n"},
    {"uptime_ms", "n"},
    {"memory_total", "n"},
    {"memory_available", "n"},
    {"failed_units", "n"},
    {"warning", "s"},
    {"busy", "s"},
    {"repos", "a"},
    {"kits", "w"},
    {"agent", "s"},
    {"url", "s"},
    {"branch", "s"},
    {"commit", "s"},
    {"size", "n"},
    {"built", "b"},
    {"built_ns", "n"},
    {"disk_min", "n"},
    {"projects", "w"},
    {"about", "s"},
    {"presets", "w"},
    {"packages", "w"},
    {"kernel", "s"},
    {"layers", "a"},
    {"host", "o"},
    {"kvm", "b"},
    {"disk_free", "n"},
    {"command", "s"},
    {"cwd", "s"},
    {"user", "s"},
    {"label", "s"},
    {"pty", "b"},
    {"attached", "b"},
    {"pid", "n"},
    {"signal", "n"},
    {"exit_status", "n"},
    {"timed_out", "b"},
    {"started_ns", "n"},
    {"ended_ns", "n"},
    {"out_total", "n"},
    {"err_total", "n"},
    {"max_rss", "n"},
    {"user_us", "n"},
    {"system_us", "n"},
    {"check", "s"},
    {"level", "ok warn fail"},
    {"text", "s"},
    {"hint", "s"},
    {"fix", "s"},
    {"phase", "s"},
    {"step", "s"},
    {"done", "n"},
    {"total", "n"},
    {"unit", "bytes s"},
    {"kind", "CONNECT UPLOAD PRIVATE DNS"},
    {"subject", "s"},
    {"class", "routine unusual critical"},
    {"asked_ns", "n"},
    {"changed_ns", "n"},
    {"attempts", "n"},
    {"fields", "o"},
    {"answers", "a"},
    {"verdict", "allow deny"},
    {"scope", "once session project"},
    {"does", "s"},
    {"rule", "s"},
    {"digest", "d1 d2"},
    {"nonce", "n1 n2"},
    {"authority", "s"},
    {"port", "n"},
    {"proto", "tls tcp http"},
    {"reason", "s"},
    {"asks", "s"},
    {"rule_missing", "s"},
    {"cap_hour", "n"},
    {"sent", "n"},
    {"site", "o"},
    {"uploads", "b"},
    {"seen_ns", "n"},
    {"registrable", "s"},
    {"claim", "o"},
    {"argv", "w"},
    {"known", "b"},
    {"argc", "n"},
    {"cut", "b"},
    {"uid", "n"},
    {"exe", "s"},
    {"undo", "s"},
    {"layer", "project user preset"},
    {"source", "s"},
    {"line", "n"},
    {"decision", "allow deny ask"},
    {"hits", "n"},
    {"past", "n"},
    {"past_ns", "n"},
    {"last_ns", "n"},
    {"mode", "ask deny budget"},
    {"problem", "s"},
    {"req", "o"},
    {"literal", "b"},
    {"addr", "o"},
    {"used", "s"},
    {"conn", "r-1-1 r-1-2 r-1-3 r-1-4"},
    {"rule_text", "s"},
    {"missing", "s"},
    {"request", "n"},
    {"up", "n"},
    {"down", "n"},
    {"ms", "n"},
    {"session", "s"},
    {"actor", "user guest"},
    {"bytes_up", "n"},
    {"bytes_down", "n"},
    {"exit", "n"},
    {"data", "o"},
    {"count", "n"},
    {"version", "s"},
};

/* One of the words with blanks between. */
static json_t *word_of(uint64_t *seed, const char *words)
{
    size_t count = 1;
    for (const char *at = words; *at; at++)
        count += *at == ' ';
    for (size_t skip = hostile_next(seed, count); skip > 0; skip--)
        words += strcspn(words, " ") + 1;
    return json_stringn(words, strcspn(words, " "));
}

static json_t *object(uint64_t *seed, int depth);

static json_t *list(uint64_t *seed, int depth, bool words)
{
    json_t *array = json_array();
    for (uint64_t i = hostile_next(seed, 4); i-- > 0;)
        json_array_append_new(array, words ? json_string(hostile_text(seed)) : object(seed, depth + 1));
    return array;
}

static json_t *member(uint64_t *seed, size_t which, int depth)
{
    const char *holds = members[which].holds;
    if (holds[1])
        return word_of(seed, holds);
    switch (*holds) {
    case 's':
        return json_string(hostile_text(seed));
    case 'n':
        return number(seed);
    case 'b':
        return json_boolean(hostile_next(seed, 2));
    default:
        return depth > 1 || hostile_next(seed, 2) ? json_null()
               : *holds == 'o'                    ? object(seed, depth + 1)
                                                  : list(seed, depth, *holds == 'w');
    }
}

static json_t *object(uint64_t *seed, int depth)
{
    json_t *json = json_object();
    uint64_t wrong = hostile_next(seed, 3) ? 1000 : 6; /* one in so many is of another type */
    for (size_t i = 0; i < countof(members); i++) {
        if (hostile_next(seed, wrong) == 1)
            json_object_set_new(json, members[i].name, any(seed, depth));
        else if (hostile_next(seed, 10) < (depth ? 2 : 8))
            json_object_set_new(json, members[i].name, member(seed, i, depth));
    }
    return json;
}

/* Rows that have names of their own there. */
static void name_it(uint64_t *seed, const char *path, json_t *json)
{
    static const char *const ids[] = {"s1", "s2", "s3", "p1", "p2", "p3"};
    bool number = strncmp(path, "/v1/requests", 12) == 0 || strstr(path, "/flows");
    if (hostile_next(seed, 20) && !number)
        json_object_set_new(json, "id", json_string(ids[hostile_next(seed, countof(ids))]));
    else if (number)
        json_object_set_new(json, "id", json_integer((json_int_t)hostile_next(seed, 6)));
    if (strncmp(path, "/v1/requests", 12) == 0 && hostile_next(seed, 8))
        json_object_set_new(json, "state", word_of(seed, "held frozen waiting"));
    if (strstr(path, "/sessions") && hostile_next(seed, 8))
        json_object_set_new(json, "state", word_of(seed, "running exited running"));
    if (strcmp(path, "/v1/projects") == 0 && hostile_next(seed, 8))
        json_object_set_new(json, "state", word_of(seed, "run run run off saved frozen"));
}

json_t *hostile_answer(uint64_t *seed, const char *path)
{
    if (hostile_next(seed, 40) == 0)
        return any(seed, 0);
    json_t *json = object(seed, 0);
    name_it(seed, path, json);
    return json;
}

json_t *hostile_event(uint64_t *seed, int64_t *seq, int64_t now_ns)
{
    static const char kinds[] =
        "exec.start exec.end exec.failed lifecycle.create lifecycle.start lifecycle.stop lifecycle.crash "
        "lifecycle.remove git.clone file.get file.put egress.open egress.close egress.deny approval.ask "
        "approval.decision approval.gone policy.add finding.guest other.kind";
    json_t *json = object(seed, 0);
    json_object_set_new(json, "kind", word_of(seed, kinds));
    json_object_set_new(json, "seq", json_integer(++*seq));
    json_object_set_new(json, "session", word_of(seed, "s1 s2 s3 s4 s5"));
    if (hostile_next(seed, 8))
        json_object_set_new(json, "ts_ns", json_integer(now_ns));
    return json;
}
