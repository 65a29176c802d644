#include "policy/budget.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUCKET_SECONDS 300
#define BUCKETS        13 /* an hour, and the bucket that is being filled */
#define HEADS          1024

/* What was counted, by five minutes. */
struct window {
    struct bucket {
        int64_t id;
        uint64_t sum;
    } buckets[BUCKETS];
};

/* What a person added to a limit. */
struct raise {
    uint64_t bytes;
    int64_t until;
};

struct name {
    struct name *next;
    char *host;
    bool admitted;
    int64_t seen; /* bucket in which it was last admitted or sent anything */
    struct window up;
    struct raise raise;
};

struct budget {
    struct name *heads[HEADS];
    size_t count;
    struct window total, names;
    struct raise total_raise;
    uint64_t changes;
};

/* Buckets begin at 1: 0 is one that was never filled. */
static int64_t bucket_of(int64_t now)
{
    return (now > 0 ? now : 0) / BUCKET_SECONDS + 1;
}

static bool is_recent(int64_t id, int64_t now)
{
    return id > 0 && id > bucket_of(now) - BUCKETS;
}

static uint64_t window_sum(const struct window *window, int64_t now)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        if (is_recent(window->buckets[i].id, now))
            sum += window->buckets[i].sum;
    return sum;
}

/* A clock that went back adds to the later bucket: what was counted is never forgotten early. */
static void window_add(struct window *window, uint64_t n, int64_t now)
{
    int64_t id = bucket_of(now);
    struct bucket *bucket = &window->buckets[id % BUCKETS];
    if (bucket->id < id)
        *bucket = (struct bucket){.id = id};
    bucket->sum += n;
}

static void window_take(struct window *window, uint64_t n, int64_t then)
{
    int64_t id = bucket_of(then);
    struct bucket *bucket = &window->buckets[id % BUCKETS];
    if (bucket->id == id)
        bucket->sum -= n < bucket->sum ? n : bucket->sum;
}

static size_t head_of(const char *host)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (; *host; host++)
        hash = (hash ^ (unsigned char)*host) * 0x100000001b3ULL;
    return (hash ^ hash >> 32) % HEADS;
}

static struct name *find(const struct budget *budget, const struct host *host)
{
    struct name *name = budget->heads[head_of(host->text)];
    while (name && strcmp(name->host, host->text) != 0)
        name = name->next;
    return name;
}

static void name_free(struct name *name)
{
    free(name->host);
    free(name);
}

/* Forgets the names of which nothing counts any more. */
static void sweep(struct budget *budget, int64_t now)
{
    for (size_t i = 0; i < HEADS; i++)
        for (struct name **slot = &budget->heads[i]; *slot;) {
            struct name *name = *slot;
            if (is_recent(name->seen, now) || now < name->raise.until) {
                slot = &name->next;
                continue;
            }
            *slot = name->next;
            name_free(name);
            budget->count--;
        }
}

/* The counter of a name; NULL: there is no room for another one. */
static struct name *find_or_add(struct budget *budget, const struct host *host, int64_t now)
{
    struct name *name = find(budget, host);
    if (name)
        return name;
    if (budget->count >= BUDGET_NAMES_MAX)
        sweep(budget, now);
    if (budget->count >= BUDGET_NAMES_MAX)
        return NULL;
    name = xnew(struct name);
    name->host = xstrdup(host->text);
    size_t head = head_of(name->host);
    name->next = budget->heads[head];
    budget->heads[head] = name;
    budget->count++;
    return name;
}

struct budget *budget_create(void)
{
    return xnew(struct budget);
}

void budget_destroy(struct budget *budget)
{
    for (size_t i = 0; budget && i < HEADS; i++)
        while (budget->heads[i]) {
            struct name *name = budget->heads[i];
            budget->heads[i] = name->next;
            name_free(name);
        }
    free(budget);
}

bool budget_admit(struct budget *budget, const struct host *host, int64_t now)
{
    struct name *name = find(budget, host);
    bool known = name && name->admitted && is_recent(name->seen, now);
    if (!known && window_sum(&budget->names, now) >= BUDGET_NAMES)
        return false;
    name = find_or_add(budget, host, now);
    if (!name)
        return false;
    if (!known)
        window_add(&budget->names, 1, now);
    name->admitted = true;
    name->seen = bucket_of(now);
    budget->changes++;
    return true;
}

/* What is left of limit and what was added to it. */
static uint64_t room_in(const struct window *window, const struct raise *raise, uint64_t limit, int64_t now)
{
    uint64_t used = window_sum(window, now), extra = now < raise->until ? raise->bytes : 0;
    uint64_t whole = limit > UINT64_MAX - extra ? UINT64_MAX : limit + extra;
    return used < whole ? whole - used : 0;
}

uint64_t budget_room(const struct budget *budget, const struct host *host, const struct budget_limits *limits,
                     int64_t now)
{
    static const struct name unknown;
    const struct name *name = find(budget, host);
    if (!name && budget->count >= BUDGET_NAMES_MAX)
        return 0;
    uint64_t room = room_in(name ? &name->up : &unknown.up, name ? &name->raise : &unknown.raise,
                            limits->name_bytes, now);
    uint64_t total = room_in(&budget->total, &budget->total_raise, BUDGET_TOTAL_BYTES, now);
    return limits->total && total < room ? total : room;
}

uint64_t budget_take(struct budget *budget, const struct host *host, uint64_t want,
                     const struct budget_limits *limits, int64_t now)
{
    struct name *name = find_or_add(budget, host, now);
    if (!name)
        return 0;
    uint64_t room = budget_room(budget, host, limits, now);
    uint64_t granted = want < room ? want : room;
    name->seen = bucket_of(now);
    budget->changes++;
    window_add(&name->up, granted, now);
    if (limits->total)
        window_add(&budget->total, granted, now);
    return granted;
}

void budget_give_back(struct budget *budget, const struct host *host, uint64_t bytes,
                      const struct budget_limits *limits, int64_t taken)
{
    struct name *name = find(budget, host);
    budget->changes++;
    if (name)
        window_take(&name->up, bytes, taken);
    if (limits->total)
        window_take(&budget->total, bytes, taken);
}

static void raise_add(struct raise *raise, uint64_t bytes, int64_t now)
{
    if (now >= raise->until)
        raise->bytes = 0;
    raise->bytes = bytes > UINT64_MAX - raise->bytes ? UINT64_MAX : raise->bytes + bytes;
    raise->until = now + (int64_t)BUCKETS * BUCKET_SECONDS;
}

void budget_raise(struct budget *budget, const struct host *host, uint64_t bytes,
                  const struct budget_limits *limits, int64_t now)
{
    struct name *name = find_or_add(budget, host, now);
    if (!name)
        return;
    name->seen = bucket_of(now);
    budget->changes++;
    raise_add(&name->raise, bytes, now);
    if (limits->total)
        raise_add(&budget->total_raise, bytes, now);
}

void budget_use(const struct budget *budget, int64_t now, struct budget_use *ret_use)
{
    *ret_use = (struct budget_use){
        .total_bytes = window_sum(&budget->total, now),
        .names = (unsigned)window_sum(&budget->names, now),
    };
}

uint64_t budget_name_bytes(const struct budget *budget, const struct host *host, int64_t now)
{
    const struct name *name = find(budget, host);
    return name ? window_sum(&name->up, now) : 0;
}

/* ---- as text: a line for each bucket, for each name, for each thing that was added to a limit ---- */

uint64_t budget_changes(const struct budget *budget)
{
    return budget->changes;
}

static void write_window(struct buf *out, const char *what, const struct window *window, int64_t now)
{
    for (size_t i = 0; i < BUCKETS; i++)
        if (is_recent(window->buckets[i].id, now) && window->buckets[i].sum)
            buf_printf(out, NULL, "%s %" PRId64 " %" PRIu64 "\n", what, window->buckets[i].id,
                       window->buckets[i].sum);
}

static void write_raise(struct buf *out, const char *what, const struct raise *raise, int64_t now)
{
    if (now < raise->until)
        buf_printf(out, NULL, "%s %" PRId64 " %" PRIu64 "\n", what, raise->until, raise->bytes);
}

char *budget_write(const struct budget *budget, int64_t now)
{
    struct buf out;

    buf_init(&out, 0);
    write_window(&out, "total", &budget->total, now);
    write_window(&out, "names", &budget->names, now);
    write_raise(&out, "more", &budget->total_raise, now);
    for (size_t i = 0; i < HEADS; i++)
        for (const struct name *name = budget->heads[i]; name; name = name->next) {
            if (!is_recent(name->seen, now) && now >= name->raise.until)
                continue;
            buf_printf(&out, NULL, "host %" PRId64 " %d %s\n", name->seen, name->admitted, name->host);
            write_window(&out, "up", &name->up, now);
            write_raise(&out, "up-more", &name->raise, now);
        }
    return buf_take_string(&out);
}

/* Buckets that no clock can have filled by now are none of ours. */
static bool set_bucket(struct window *window, int64_t id, uint64_t sum, int64_t now)
{
    if (!window || id < 1 || id > bucket_of(now) + BUCKETS)
        return false;
    window->buckets[id % BUCKETS] = (struct bucket){.id = id, .sum = sum};
    return true;
}

static bool set_raise(struct raise *raise, int64_t until, uint64_t bytes, int64_t now)
{
    if (!raise || until > now + (int64_t)(BUCKETS + 1) * BUCKET_SECONDS)
        return false;
    *raise = (struct raise){.bytes = bytes, .until = until};
    return true;
}

/* One line; *at: the name that the lines are about, NULL at first. */
static bool read_line(struct budget *budget, const char *line, struct name **at, int64_t now)
{
    char what[8];
    int64_t number;
    uint64_t value;
    struct host host;

    if (sscanf(line, "%7s %" SCNd64 " %" SCNu64, what, &number, &value) != 3)
        return false;
    if (!strcmp(what, "total"))
        return set_bucket(&budget->total, number, value, now);
    if (!strcmp(what, "names"))
        return set_bucket(&budget->names, number, value, now);
    if (!strcmp(what, "more"))
        return set_raise(&budget->total_raise, number, value, now);
    if (!strcmp(what, "up"))
        return set_bucket(*at ? &(*at)->up : NULL, number, value, now);
    if (!strcmp(what, "up-more"))
        return set_raise(*at ? &(*at)->raise : NULL, number, value, now);
    const char *word = strrchr(line, ' ') + 1;
    autofree char *name = xasprintf(strchr(word, ':') && *word != '[' ? "[%s]" : "%s", word);
    if (strcmp(what, "host") != 0 || host_parse(name, strlen(name), HOST_REQUEST, &host, NULL) < 0)
        return false;
    *at = find_or_add(budget, &host, now);
    if (*at) {
        (*at)->seen = number;
        (*at)->admitted = value != 0;
    }
    return *at != NULL;
}

int budget_read(struct budget *budget, const char *text, int64_t now, struct error **err)
{
    struct name *at = NULL;

    while (*text) {
        size_t len = strcspn(text, "\n");
        autofree char *line = xstrndup(text, len);

        if (!text[len] || !read_line(budget, line, &at, now)) {
            window_add(&budget->total, BUDGET_TOTAL_BYTES, now);
            window_add(&budget->names, BUDGET_NAMES, now);
            return error_set(err, ERROR_CORRUPT, "what was used of the budget cannot be read");
        }
        text += len + 1;
    }
    return 0;
}
