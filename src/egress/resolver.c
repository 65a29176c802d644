#include "egress/resolver.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/units.h"

#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CACHE_ENTRIES 256
#define ZOMBIES_MAX   64 /* killed and not yet collected */

struct waiter {
    struct waiter *next;
    uint64_t id;
    resolver_fn fn;
    void *user;
};

struct child;

/* A name that is looked up or waits for a child; in order of its beginning. */
struct lookup {
    struct lookup *next;
    char name[RESOLVER_NAME_MAX];
    uint64_t id;
    int64_t begun_ms;
    struct child *child; /* NULL: waits */
    struct waiter *waiters;
};

struct child {
    struct resolver *resolver;
    uv_poll_t poll;
    int fd;
    pid_t pid;
    struct lookup *lookup; /* NULL: free */
};

struct cached {
    char name[RESOLVER_NAME_MAX];
    int64_t until_ms;
    struct address addresses[RESOLVER_ADDRESSES_MAX];
    size_t count;
};

struct resolver {
    uv_loop_t *loop;
    uv_timer_t timer; /* the deadline of the first lookup */
    char *program, *table;
    int64_t limit_ms, cache_ms;
    struct lookup *lookups, *ending;
    size_t lookup_count;
    uint64_t last_id;
    struct child *children[RESOLVER_CHILDREN];
    pid_t zombies[ZOMBIES_MAX];
    size_t zombie_count;
    struct cached cache[CACHE_ENTRIES];
    size_t cache_next; /* the entry that goes first */
};

static int64_t now_ms(void)
{
    return units_monotonic_ns() / 1000000;
}

/* ---- the cache ---- */

static const struct cached *find_cached(const struct resolver *resolver, const char *name)
{
    int64_t now = now_ms();

    for (size_t i = 0; i < CACHE_ENTRIES; i++) {
        const struct cached *cached = &resolver->cache[i];

        if (cached->until_ms > now && !strcmp(cached->name, name))
            return cached;
    }
    return NULL;
}

static void cache_reply(struct resolver *resolver, const char *name, const struct resolver_reply *reply)
{
    struct cached *cached = &resolver->cache[resolver->cache_next++ % CACHE_ENTRIES];

    snprintf(cached->name, sizeof(cached->name), "%s", name);
    cached->until_ms = now_ms() + resolver->cache_ms;
    cached->count = reply->count;
    memcpy(cached->addresses, reply->addresses, sizeof(cached->addresses));
}

/* ---- lookups ---- */

static void start_waiting(struct resolver *resolver);

/* Takes the lookup out and calls who waits for it. */
static void end_lookup(struct resolver *resolver, struct lookup *lookup, const char *failure,
                       const struct resolver_reply *reply)
{
    struct resolver_answer answer = {
        .failure = failure,
        .addresses = reply ? reply->addresses : NULL,
        .count = reply ? reply->count : 0,
        .ms = (unsigned)(now_ms() - lookup->begun_ms),
    };
    struct lookup **at = &resolver->lookups;

    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    resolver->lookup_count--;
    if (lookup->child)
        lookup->child->lookup = NULL;
    resolver->ending = lookup;
    while (lookup->waiters) { /* one that is called may cancel another */
        struct waiter *waiter = lookup->waiters;

        lookup->waiters = waiter->next;
        waiter->fn(&answer, waiter->user);
        free(waiter);
    }
    resolver->ending = NULL;
    free(lookup);
}

static void on_deadline(uv_timer_t *timer);

static void plan_deadline(struct resolver *resolver)
{
    if (!resolver->lookups) {
        uv_timer_stop(&resolver->timer);
        return;
    }
    int64_t left = resolver->lookups->begun_ms + resolver->limit_ms - now_ms();
    uv_update_time(resolver->loop);
    uv_timer_start(&resolver->timer, on_deadline, left > 0 ? (uint64_t)left : 0, 0);
}

/* ---- children ---- */

static void on_child_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* Collects what has been killed; `wait`: all of it. */
static void collect_zombies(struct resolver *resolver, bool wait)
{
    size_t kept = 0;

    for (size_t i = 0; i < resolver->zombie_count; i++) {
        if (waitpid(resolver->zombies[i], NULL, wait ? 0 : WNOHANG) == 0)
            resolver->zombies[kept++] = resolver->zombies[i];
    }
    resolver->zombie_count = kept;
}

/* Ends a child, whatever it does; its lookup is left without one. */
static void kill_child(struct child *child)
{
    struct resolver *resolver = child->resolver;

    for (size_t i = 0; i < RESOLVER_CHILDREN; i++) {
        if (resolver->children[i] == child)
            resolver->children[i] = NULL;
    }
    if (child->lookup)
        child->lookup->child = NULL;
    uv_poll_stop(&child->poll);
    cleanup_close(&child->fd);
    kill(child->pid, SIGKILL);
    collect_zombies(resolver, resolver->zombie_count == ZOMBIES_MAX);
    resolver->zombies[resolver->zombie_count++] = child->pid;
    uv_close((uv_handle_t *)&child->poll, on_child_closed);
}

static const char *failure_of(int rc)
{
    return rc == EAI_NONAME ? "no-such-name" : "no-answer";
}

static void take_reply(struct child *child, const struct resolver_reply *reply)
{
    struct resolver *resolver = child->resolver;
    struct lookup *lookup = child->lookup;

    if (reply->rc) {
        end_lookup(resolver, lookup, failure_of(reply->rc), NULL);
    } else if (!reply->count) {
        end_lookup(resolver, lookup, "no-address", NULL);
    } else {
        cache_reply(resolver, lookup->name, reply);
        end_lookup(resolver, lookup, NULL, reply);
    }
}

static void on_child_readable(uv_poll_t *poll, int status, int events)
{
    struct child *child = poll->data;
    struct resolver *resolver = child->resolver;
    struct resolver_reply reply;
    size_t len = 0;
    int rc = fd_receive(child->fd, &reply, sizeof(reply), &len, NULL, 0, NULL, NULL);

    (void)status;
    (void)events;
    if (rc == 0)
        return;
    struct lookup *lookup = child->lookup;
    if (rc < 0 || len != sizeof(reply) || !lookup || reply.id != lookup->id ||
        reply.count > RESOLVER_ADDRESSES_MAX) {
        kill_child(child);
        if (lookup)
            end_lookup(resolver, lookup, "resolver", NULL);
    } else {
        take_reply(child, &reply);
    }
    start_waiting(resolver);
}

static pid_t spawn_child(struct resolver *resolver, int fd)
{
    autofree char *variable = xasprintf("HUTCH_RESOLVER_TABLE=%s", resolver->table ? resolver->table : "");
    const char *const argv[] = {resolver->program, NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", variable, NULL};
    struct spawn spawn = {.argv = argv,
                          .env = resolver->table ? env : NULL,
                          .in = -1,
                          .out = -1,
                          .err = 2,
                          .keep = {fd},
                          .keep_count = 1,
                          .new_session = true};
    auto(error) struct error *err = NULL;
    pid_t pid;

    if (spawn_start(&spawn, &pid, &err) == 0)
        return pid;
    log_debug("%s", err->message);
    return -1;
}

static struct child *start_child(struct resolver *resolver)
{
    int pair[2];

    if (!resolver->program || fd_socketpair(SOCK_SEQPACKET, false, pair, NULL) < 0)
        return NULL;
    autoclose int ours = pair[0];
    autoclose int theirs = pair[1];
    pid_t pid = fd_set_nonblocking(ours, true, NULL) == 0 ? spawn_child(resolver, theirs) : -1;
    if (pid < 0)
        return NULL;
    struct child *child = xnew(struct child);
    child->resolver = resolver;
    child->pid = pid;
    child->fd = steal_fd(&ours);
    require(uv_poll_init(resolver->loop, &child->poll, child->fd) == 0);
    child->poll.data = child;
    uv_poll_start(&child->poll, UV_READABLE, on_child_readable);
    return child;
}

/* A free child, started if there is room for one; NULL: all are at work, or none can be started
 * (*ret_broken).
 */
static struct child *get_child(struct resolver *resolver, bool *ret_broken)
{
    size_t room = RESOLVER_CHILDREN;

    for (size_t i = 0; i < RESOLVER_CHILDREN; i++) {
        if (!resolver->children[i])
            room = i;
        else if (!resolver->children[i]->lookup)
            return resolver->children[i];
    }
    if (room == RESOLVER_CHILDREN)
        return NULL;
    collect_zombies(resolver, false);
    resolver->children[room] = start_child(resolver);
    *ret_broken = !resolver->children[room];
    return resolver->children[room];
}

static bool give(struct child *child, struct lookup *lookup)
{
    struct resolver_question question = {.id = lookup->id};

    snprintf(question.name, sizeof(question.name), "%s", lookup->name);
    if (fd_send(child->fd, &question, sizeof(question), NULL, 0, NULL) != 1)
        return false;
    child->lookup = lookup;
    lookup->child = child;
    return true;
}

static struct lookup *first_waiting(struct resolver *resolver)
{
    struct lookup *lookup = resolver->lookups;

    while (lookup && lookup->child)
        lookup = lookup->next;
    return lookup;
}

/* Gives what waits to free children. */
static void start_waiting(struct resolver *resolver)
{
    struct lookup *lookup;

    while ((lookup = first_waiting(resolver)) != NULL) {
        bool broken = false;
        struct child *child = get_child(resolver, &broken);

        if (child && give(child, lookup))
            continue;
        if (child)
            kill_child(child);
        else if (!broken)
            break;
        end_lookup(resolver, lookup, "resolver", NULL);
    }
    plan_deadline(resolver);
}

static void on_deadline(uv_timer_t *timer)
{
    struct resolver *resolver = timer->data;
    int64_t limit = now_ms() - resolver->limit_ms;

    while (resolver->lookups && resolver->lookups->begun_ms <= limit) {
        struct lookup *lookup = resolver->lookups;

        if (lookup->child)
            kill_child(lookup->child);
        end_lookup(resolver, lookup, "time", NULL);
    }
    start_waiting(resolver);
}

/* ---- callers ---- */

static struct lookup *find_lookup(const struct resolver *resolver, const char *name)
{
    struct lookup *lookup = resolver->lookups;

    while (lookup && strcmp(lookup->name, name))
        lookup = lookup->next;
    return lookup;
}

static struct lookup *add_lookup(struct resolver *resolver, const char *name)
{
    struct lookup *lookup = xnew(struct lookup), **at = &resolver->lookups;

    while (*at)
        at = &(*at)->next;
    *at = lookup;
    resolver->lookup_count++;
    lookup->id = ++resolver->last_id;
    lookup->begun_ms = now_ms();
    snprintf(lookup->name, sizeof(lookup->name), "%s", name);
    return lookup;
}

static void fail_at_once(const char *failure, resolver_fn fn, void *user)
{
    const struct resolver_answer answer = {.failure = failure};

    fn(&answer, user);
}

uint64_t resolver_lookup(struct resolver *resolver, const char *name, resolver_fn fn, void *user)
{
    const struct cached *cached = find_cached(resolver, name);

    if (cached) {
        const struct resolver_answer answer = {
            .addresses = cached->addresses, .count = cached->count, .cached = true};
        fn(&answer, user);
        return 0;
    }
    struct lookup *lookup = find_lookup(resolver, name);
    const char *failure = strlen(name) >= RESOLVER_NAME_MAX                     ? "no-such-name"
                          : !resolver->program                                  ? "resolver"
                          : !lookup && resolver->lookup_count >= RESOLVER_QUEUE ? "busy"
                                                                                : NULL;
    if (failure) {
        fail_at_once(failure, fn, user);
        return 0;
    }
    bool fresh = !lookup;
    if (fresh)
        lookup = add_lookup(resolver, name);
    struct waiter *waiter = xnew(struct waiter);
    uint64_t id = waiter->id = ++resolver->last_id;
    waiter->fn = fn;
    waiter->user = user;
    waiter->next = lookup->waiters;
    lookup->waiters = waiter;
    /* It begins from the loop, so that fn is not called before the id is known. */
    if (fresh)
        uv_timer_start(&resolver->timer, on_deadline, 0, 0);
    return id;
}

static bool drop_waiter(struct lookup *lookup, uint64_t id)
{
    for (struct waiter **at = &lookup->waiters; *at; at = &(*at)->next) {
        if ((*at)->id != id)
            continue;
        struct waiter *waiter = *at;
        *at = waiter->next;
        free(waiter);
        return true;
    }
    return false;
}

void resolver_cancel(struct resolver *resolver, uint64_t id)
{
    struct lookup *lookup = resolver->lookups;

    if (!id || (resolver->ending && drop_waiter(resolver->ending, id)))
        return;
    while (lookup && !drop_waiter(lookup, id))
        lookup = lookup->next;
}

struct resolver *resolver_create(const struct resolver_options *options)
{
    struct resolver *resolver = xnew(struct resolver);

    resolver->loop = options->loop;
    resolver->program = xstrdup(options->program);
    resolver->table = xstrdup(options->table);
    resolver->limit_ms = options->limit_ms ? options->limit_ms : RESOLVER_LIMIT_MS;
    resolver->cache_ms = options->cache_ms ? options->cache_ms : RESOLVER_CACHE_MS;
    uv_timer_init(resolver->loop, &resolver->timer);
    resolver->timer.data = resolver;
    return resolver;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct resolver *resolver = handle->data;

    free(resolver->program);
    free(resolver->table);
    free(resolver);
}

void resolver_destroy(struct resolver *resolver)
{
    if (!resolver)
        return;
    for (size_t i = 0; i < RESOLVER_CHILDREN; i++) {
        if (resolver->children[i])
            kill_child(resolver->children[i]);
    }
    collect_zombies(resolver, true);
    while (resolver->lookups) {
        struct lookup *lookup = resolver->lookups;

        resolver->lookups = lookup->next;
        for (struct waiter *waiter = lookup->waiters, *next; waiter; waiter = next) {
            next = waiter->next;
            free(waiter);
        }
        free(lookup);
    }
    uv_close((uv_handle_t *)&resolver->timer, on_timer_closed);
}
