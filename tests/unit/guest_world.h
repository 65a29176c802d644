/* guest_world.h: hutchd's side, a real hutch-worker and a fake guest in one loop, for the tests of the guest
 * link. */
#ifndef HUTCH_TESTS_GUEST_WORLD_H
#define HUTCH_TESTS_GUEST_WORLD_H

#include "daemon/guest.h"
#include "fake_guest.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct world {
    uv_loop_t loop;
    uv_timer_t tick; /* so that conditions are looked at */
    char dir[64];
    char *worker_program, *paths[PORT_COUNT];
    const char *project;
    unsigned crashes_max;
    pid_t fake;
    struct guest *guest;
    uint8_t keys[PORT_COUNT][WMSG_KEY_SIZE]; /* hutchd's record, which outlives the guest object */
    bool have_key[PORT_COUNT];
    bool refuse_keys;
    unsigned saves, ups, downs, alerts;
    char last_alert[WMSG_TEXT_MAX];
};

/* One call and what came of it. */
struct outcome {
    bool done, head;
    enum error_code code; /* 0: ok */
    char *text, *hint;
    struct wmsg_item item;
    uint64_t offset;
    unsigned items;
};

/* The other end of a stream, moved by a thread: reads and checks, or writes, `size` bytes of the fake's
 * pattern. */
struct mover {
    pthread_t thread;
    atomic_int fd; /* -1: closed by the writer */
    uint64_t size;
    _Atomic uint64_t moved;
    bool wrong;        /* after mover_join */
    bool end_in_order; /* after writing: shutdown and read to the end; else close */
};

struct world *world_create(const char *project);
void world_start_fake(struct world *world, enum fake_mode mode);
void world_start_guest(struct world *world, bool running);
/* Also checks that nothing is left in the loop. */
void world_destroy(struct world *world);
/* Turns the loop until the condition holds; false after ms. */
#define world_until(world, condition, ms)                                                                    \
    ({                                                                                                       \
        int64_t end_ = world_now_ms() + (ms);                                                                \
        bool held_;                                                                                          \
        while (!(held_ = (condition)) && world_now_ms() < end_)                                              \
            uv_run(&(world)->loop, UV_RUN_ONCE);                                                             \
        held_;                                                                                               \
    })
int64_t world_now_ms(void);

/* Begins a call; the outcome is the caller's and must outlive it. stream: see guest_call. */
uint32_t world_begin(struct world *world, enum guest_op op, enum guest_port port, const char *path,
                     const char *body, unsigned flags, int stream, struct outcome *outcome);
/* The same to its end (at most 20 s); true if it was ok. */
bool world_call(struct world *world, enum guest_op op, enum guest_port port, const char *path,
                const char *body, struct outcome *outcome);
void outcome_finish(struct outcome *outcome);

void mover_read(struct mover *mover, int fd, uint64_t size);
void mover_write(struct mover *mover, int fd, uint64_t size, bool end_in_order);
void mover_join(struct mover *mover);

/* A line of /proc/PID/NAME in KiB ("status", "VmHWM:"). */
uint64_t process_kib(pid_t pid, const char *file, const char *key);
uint8_t fake_pattern(uint64_t offset);

#endif
