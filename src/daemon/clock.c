#include "daemon/clock.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/machine.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FAR_S                                                                                                \
    (10LL * 365 * 24 * 3600) /* the timer is not meant to fire: it is cancelled when the clock is set */

struct clock_watch {
    struct daemon *daemon;
    int fd;
    uv_poll_t poll;
};

/* Arms the timer so that a jump of the clock, also after a sleep, cancels it. */
static int arm(int fd)
{
    struct itimerspec at = {.it_value.tv_sec = time(NULL) + FAR_S};

    return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, NULL);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct clock_watch *watch = poll->data;
    uint64_t fired;

    (void)status;
    (void)events;
    if (read(watch->fd, &fired, sizeof(fired)) < 0 && errno != ECANCELED)
        return;
    log_info("the host's clock jumped; the machines' clocks are set");
    arm(watch->fd);
    machine_set_clocks(watch->daemon);
}

struct clock_watch *clock_watch_create(struct daemon *daemon)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    struct clock_watch *watch;

    if (fd < 0 || arm(fd) < 0) {
        log_warning("a jump of the clock cannot be noticed: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    watch = xnew(struct clock_watch);
    watch->daemon = daemon;
    watch->fd = fd;
    require(uv_poll_init(&daemon->loop, &watch->poll, fd) == 0);
    watch->poll.data = watch;
    require(uv_poll_start(&watch->poll, UV_READABLE, on_readable) == 0);
    uv_unref((uv_handle_t *)&watch->poll);
    return watch;
}

static void on_closed(uv_handle_t *handle)
{
    struct clock_watch *watch = handle->data;

    close(watch->fd);
    free(watch);
}

void clock_watch_destroy(struct clock_watch *watch)
{
    if (watch)
        uv_close((uv_handle_t *)&watch->poll, on_closed);
}
