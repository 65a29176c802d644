#include "cli/progress.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/out.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_NS 100000000 /* not more often than ten times a second */
#define CLOCK_MS  1000

void progress_init(struct progress *progress)
{
    *progress = (struct progress){.on = isatty(STDERR_FILENO), .start_ns = units_monotonic_ns()};
}

void progress_clear(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\x1b[K", stderr);
    progress->drawn = false;
}

void progress_finish(struct progress *progress)
{
    progress_clear(progress);
    free(steal(&progress->phase));
    json_decref(steal(&progress->last));
}

/* "1.2G of 3.0G", "40 of 100", "40", or "". Caller frees. */
static char *amount(uint64_t done, uint64_t total, bool bytes)
{
    char a[UNITS_SIZE_MAX], b[UNITS_SIZE_MAX];
    if (done == 0 && total == 0)
        return xstrdup("");
    if (!bytes)
        return total > 0 ? xasprintf(_("%llu of %llu"), (unsigned long long)done, (unsigned long long)total)
                         : xasprintf("%llu", (unsigned long long)done);
    units_format_size(done, a);
    return total > 0 ? xasprintf(_("%s of %s"), a, units_format_size(total, b)) : xstrdup(a);
}

/* Draws the line, cut to the terminal's width. */
static void draw(struct progress *progress, const char *phase, const char *text, uint64_t done,
                 uint64_t total, bool bytes)
{
    if (!progress->on)
        return;
    int64_t now = units_monotonic_ns();
    bool new_phase = !progress->phase || strcmp(progress->phase, phase) != 0;
    if (!new_phase && now - progress->drawn_ns < REDRAW_NS)
        return;
    if (new_phase) {
        free(progress->phase);
        progress->phase = xstrdup(phase);
        progress->phase_ns = now;
    }
    progress->drawn_ns = now;
    char elapsed[UNITS_DURATION_MAX];
    units_format_duration((uint64_t)(now - progress->start_ns) / 1000000000, elapsed);
    autofree char *count = amount(done, total, bytes);
    autofree char *line =
        xasprintf("%s  %s%s%s%s%s", elapsed, phase, *count ? "  " : "", count, *text ? "  " : "", text);
    autofree char *safe = text_safe(line);
    size_t columns = out_columns(STDERR_FILENO);
    size_t len = text_clip(safe, strlen(safe), columns > 1 ? columns - 1 : 1, NULL);
    fprintf(stderr, "\r%.*s\x1b[K", (int)len, safe);
    progress->drawn = true;
}

void progress_line(struct progress *progress, const json_t *line)
{
    if (json_object_get(line, "warning")) {
        progress_clear(progress);
        out_note("%s", out_string(line, "warning"));
        return;
    }
    json_t *kept = json_incref((json_t *)line);
    json_decref(progress->last);
    progress->last = kept;
    int64_t done = out_number(line, "done", 0), total = out_number(line, "total", 0);
    draw(progress, out_string(line, "phase"), _(out_string(line, "text")), done < 0 ? 0 : (uint64_t)done,
         total < 0 ? 0 : (uint64_t)total, strcmp(out_string(line, "unit"), "bytes") == 0);
}

void progress_bytes(struct progress *progress, const char *phase, uint64_t done, uint64_t total)
{
    draw(progress, phase, "", done, total, true);
}

static void on_line(json_t *line, void *user)
{
    progress_line(user, line);
}

/* ---- the clock ---- */

struct clock {
    uv_timer_t timer;
    struct progress *progress;
};

static void on_second(uv_timer_t *timer)
{
    struct clock *clock = timer->data;
    if (clock->progress->last)
        progress_line(clock->progress, clock->progress->last);
}

static void on_closed(uv_handle_t *timer)
{
    free(timer->data);
}

/* Draws the line each second; NULL: nobody sees it. */
static struct clock *start_clock(struct client *client, struct progress *progress)
{
    if (!progress->on)
        return NULL;
    struct clock *clock = xnew(struct clock);
    clock->progress = progress;
    require(uv_timer_init(client->loop, &clock->timer) == 0);
    clock->timer.data = clock;
    uv_timer_start(&clock->timer, on_second, CLOCK_MS, CLOCK_MS);
    return clock;
}

/* ---- ^C ---- */

static char *interrupted; /* looked up before: a handler may not */

/* ^C ends us, never the work: that is said, by what a handler may call. */
static void on_interrupt(int number)
{
    ssize_t written = write(STDERR_FILENO, interrupted, strlen(interrupted));
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_interrupt(struct sigaction *old)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    free(interrupted);
    interrupted = out_wrap(
        _("\nhutch: no longer watched; hutchd goes on with it, and the same command watches it again\n"), 0,
        7, out_columns(STDERR_FILENO));
    sigemptyset(&action.sa_mask);
    action.sa_flags = (int)(SA_NODEFER | SA_RESETHAND);
    sigaction(SIGINT, NULL, old);
    if (old->sa_handler == SIG_DFL) /* who ignores it goes on ignoring it */
        sigaction(SIGINT, &action, NULL);
}

int progress_call(struct client *client, const char *method, const char *path, const json_t *body,
                  json_t **ret_result, struct error **err)
{
    struct progress progress;
    struct sigaction old;
    progress_init(&progress);
    watch_interrupt(&old);
    struct clock *clock = start_clock(client, &progress);
    int rc = client_lines(client, method, path, body, on_line, &progress, ret_result, err);
    sigaction(SIGINT, &old, NULL);
    if (clock) /* freed by a later turn of the client's loop */
        uv_close((uv_handle_t *)&clock->timer, on_closed);
    progress_finish(&progress);
    return rc;
}
