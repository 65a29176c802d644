#include "guest_world.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/units.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int64_t world_now_ms(void)
{
    return units_monotonic_ns() / 1000000;
}

uint8_t fake_pattern(uint64_t offset)
{
    return (uint8_t)(offset * 131 ^ offset >> 16);
}

/* A test that failed has left its outcomes behind. */
static bool ending;

static void on_tick(uv_timer_t *timer)
{
}

/* hutch-worker lies beside the tests' folder: BUILD/hutch-worker, BUILD/tests/unit/test_x. */
static char *find_worker(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    require(n > 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    return file_join(path, "hutch-worker");
}

struct world *world_create(const char *project)
{
    static const char *const names[PORT_COUNT] = {"control.sock", "egress.sock", "bulk.sock"};
    struct world *world = xnew(struct world);

    signal(SIGPIPE, SIG_IGN);
    world->project = project;
    world->worker_program = find_worker();
    snprintf(world->dir, sizeof(world->dir), "/tmp/hutch-link-XXXXXX");
    require(mkdtemp(world->dir));
    for (int i = 0; i < PORT_COUNT; i++)
        world->paths[i] = file_join(world->dir, names[i]);
    require(uv_loop_init(&world->loop) == 0);
    uv_timer_init(&world->loop, &world->tick);
    uv_timer_start(&world->tick, on_tick, 5, 5);
    return world;
}

void world_start_fake(struct world *world, enum fake_mode mode)
{
    world->fake = fake_guest_start(world->dir, mode);
}

static bool load_key(const char *project, uint32_t port, uint8_t key[32], void *user)
{
    struct world *world = user;
    if (world->have_key[port])
        memcpy(key, world->keys[port], WMSG_KEY_SIZE);
    return world->have_key[port];
}

static int save_key(const char *project, uint32_t port, const uint8_t key[32], void *user, struct error **err)
{
    struct world *world = user;
    world->saves++;
    if (world->refuse_keys)
        return error_set(err, ERROR_NO_SPACE, "the disk is full");
    memcpy(world->keys[port], key, WMSG_KEY_SIZE);
    world->have_key[port] = true;
    return 0;
}

static void on_state(struct guest *guest, bool up, void *user)
{
    struct world *world = user;
    require(guest_up(guest) == up);
    if (up)
        world->ups++;
    else
        world->downs++;
}

static void on_alert(struct guest *guest, const char *text, void *user)
{
    struct world *world = user;
    world->alerts++;
    snprintf(world->last_alert, sizeof(world->last_alert), "%s", text);
}

void world_start_guest(struct world *world, bool running)
{
    struct guest_options options = {.loop = &world->loop,
                                    .worker_program = world->worker_program,
                                    .project = world->project,
                                    .ports = {world->paths[0], world->paths[1], world->paths[2]},
                                    .load_key = load_key,
                                    .save_key = save_key,
                                    .on_state = on_state,
                                    .on_alert = on_alert,
                                    .user = world,
                                    .crashes_max = world->crashes_max};

    require(guest_create(&options, &world->guest, NULL) == 0);
    guest_set_running(world->guest, running);
}

void world_destroy(struct world *world)
{
    ending = true;
    guest_destroy(world->guest);
    ending = false;
    if (world->fake > 0)
        fake_guest_stop(world->fake);
    uv_close((uv_handle_t *)&world->tick, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    require(uv_loop_close(&world->loop) == 0);
    file_remove_tree(world->dir, NULL);
    for (int i = 0; i < PORT_COUNT; i++)
        free(world->paths[i]);
    free(world->worker_program);
    free(world);
}

/* ---- calls ---- */

static void on_item(const struct wmsg_item *item, void *user)
{
    struct outcome *outcome = user;
    require(!outcome->done);
    outcome->items++;
    outcome->item = *item;
}

static void on_head(const struct wmsg_head *head, void *user)
{
    struct outcome *outcome = user;
    require(!outcome->done && !outcome->head);
    outcome->head = true;
    outcome->offset = head->offset;
}

static void on_result(const struct wmsg_item *item, const struct error *err, void *user)
{
    struct outcome *outcome = user;
    if (ending)
        return;
    require(!outcome->done && !item == !!err);
    outcome->done = true;
    if (item && !outcome->items)
        outcome->item = *item;
    if (!err)
        return;
    outcome->code = err->code;
    outcome->text = xstrdup(err->message);
    outcome->hint = xstrdup(err->hint);
}

uint32_t world_begin(struct world *world, enum guest_op op, enum guest_port port, const char *path,
                     const char *body, unsigned flags, int stream, struct outcome *outcome)
{
    static const struct guest_call_ops ops = {.on_item = on_item, .on_head = on_head, .on_result = on_result};
    struct guest_call call = {
        .op = op, .port = port, .flags = flags, .path = path, .body = body, .stream = stream};
    auto(error) struct error *err = NULL;

    *outcome = (struct outcome){0};
    uint32_t id = guest_call(world->guest, &call, &ops, outcome, &err);
    if (!id)
        on_result(NULL, err, outcome);
    return id;
}

bool world_call(struct world *world, enum guest_op op, enum guest_port port, const char *path,
                const char *body, struct outcome *outcome)
{
    world_begin(world, op, port, path, body, 0, -1, outcome);
    return world_until(world, outcome->done, 20000) && !outcome->code;
}

void outcome_finish(struct outcome *outcome)
{
    free(outcome->text);
    free(outcome->hint);
    *outcome = (struct outcome){0};
}

/* ---- threads at the other end of streams ---- */

static void *run_reader(void *arg)
{
    struct mover *mover = arg;
    uint8_t block[65536];
    ssize_t n;

    while ((n = read(mover->fd, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < n; i++)
            mover->wrong |= block[i] != fake_pattern(mover->moved + (uint64_t)i);
        mover->moved += (uint64_t)n;
    }
    return NULL;
}

static void *run_writer(void *arg)
{
    struct mover *mover = arg;
    uint8_t block[65536];

    while (mover->moved < mover->size) {
        uint64_t left = mover->size - mover->moved;
        size_t len = left < sizeof(block) ? left : sizeof(block);
        for (size_t i = 0; i < len; i++)
            block[i] = fake_pattern(mover->moved + i);
        ssize_t n = send(mover->fd, block, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            break;
        mover->moved += n > 0 ? (uint64_t)n : 0;
    }
    if (mover->end_in_order) {
        shutdown(mover->fd, SHUT_WR);
        while (read(mover->fd, block, sizeof(block)) > 0)
            ;
    }
    close(mover->fd);
    mover->fd = -1;
    return NULL;
}

static void start(struct mover *mover, void *(*run)(void *))
{
    fd_set_nonblocking(mover->fd, false, NULL);
    require(pthread_create(&mover->thread, NULL, run, mover) == 0);
}

void mover_read(struct mover *mover, int fd, uint64_t size)
{
    *mover = (struct mover){.fd = fd, .size = size};
    start(mover, run_reader);
}

void mover_write(struct mover *mover, int fd, uint64_t size, bool end_in_order)
{
    *mover = (struct mover){.fd = fd, .size = size, .end_in_order = end_in_order};
    start(mover, run_writer);
}

void mover_join(struct mover *mover)
{
    pthread_join(mover->thread, NULL);
    if (mover->fd >= 0)
        close(mover->fd);
}

uint64_t process_kib(pid_t pid, const char *name, const char *key)
{
    autofree char *path = xasprintf("/proc/%d/%s", (int)pid, name);
    autofclose FILE *file = fopen(path, "re");
    char line[256];
    uint64_t sum = 0, kib;

    require(file);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%lu", &kib) == 1)
            sum += kib;
    }
    return sum;
}
