/* An hour of a busy project on the screen, with a clock of its own: the model gets a command's start and end
 * each second, a file or an act each half minute, and its timers; what is due is drawn, at most 30 frames a
 * second, into a terminal of 80x24. Prints how many events, frames and bytes that were, as JSON. */
#include "base/alloc.h"
#include "base/error.h"
#include "ui/model/app.h"
#include "ui/term/term.h"
#include "ui/view/draw.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BEGIN_NS INT64_C(1795960800000000000)
#define HOUR_NS  (3600 * INT64_C(1000000000))
#define STEP_NS  INT64_C(500000000) /* between two events */
#define FRAME_NS INT64_C(33000000)
#define MS       INT64_C(1000000)

struct hour {
    struct app *app;
    struct term *term;
    struct grid *grid;
    struct effects effects;
    int master;
    int64_t now_ns, timer_ns, frame_ns; /* 0: no timer; when the last frame was */
    uint64_t events_id, projects_id;
    unsigned long events, frames, bytes;
};

static void send(struct hour *hour, struct message message);

static void answer(struct hour *hour, uint64_t id)
{
    send(hour, (struct message){.type = MESSAGE_ANSWER, .id = id});
}

static void line(struct hour *hour, uint64_t id, const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    require(json);
    send(hour, (struct message){.type = MESSAGE_LINE, .id = id, .body = json});
    json_decref(json);
}

static void project(struct hour *hour, uint64_t id)
{
    line(hour, id,
         "{\"id\":\"p1\",\"name\":\"shop\",\"state\":\"run\",\"template\":\"debian-13\",\"disk\":6549825126,"
         "\"cpus\":2,\"memory\":2147483648,\"created_ns\":1795870000000000000,\"accel\":\"kvm\"}");
}

/* What is asked for: the events go on, all else is answered at once. */
static void do_effect(struct hour *hour, const struct effect *effect)
{
    const char *path = effect->path ? effect->path : "";
    switch (effect->type) {
    case EFFECT_TIMER:
        hour->timer_ns = hour->now_ns + effect->number * MS;
        break;
    case EFFECT_TITLE:
        term_title(hour->term, effect->text);
        break;
    case EFFECT_LINES:
        if (strncmp(path, "/v1/events", 10) == 0) {
            hour->events_id = effect->id;
            break;
        }
        if (strcmp(path, "/v1/projects") == 0)
            project(hour, effect->id);
        answer(hour, effect->id);
        break;
    case EFFECT_CALL:
        answer(hour, effect->id);
        break;
    default:
        break;
    }
}

static void send(struct hour *hour, struct message message)
{
    message.now_ns = hour->now_ns;
    app_update(hour->app, &message, &hour->effects);
    for (struct effect *effect; (effect = effects_take(&hour->effects));) {
        do_effect(hour, effect);
        effect_free(effect);
    }
}

/* Takes what was written to the terminal. */
static void drain(struct hour *hour)
{
    char bytes[65536];
    for (ssize_t n; (n = read(hour->master, bytes, sizeof(bytes))) > 0;)
        hour->bytes += (unsigned long)n;
}

static void event(struct hour *hour, unsigned long seq)
{
    bool end = seq % 2 == 0, rare = seq % 60 == 1 || seq % 60 == 2;
    unsigned long command = end ? seq - 1 : seq;
    const char *kind = rare ? (end ? "file.get" : "file.put") : end ? "exec.end" : "exec.start";
    autofree char *text = xasprintf(
        "{\"seq\":%lu,\"ts_ns\":%lld,\"project\":\"shop\",\"kind\":\"%s\",\"actor\":\"you\",\"session\":\"s%"
        "lu\","
        "\"subject\":\"npm test -- packages/api/part-%lu\",\"ms\":%d,\"exit\":%d}",
        seq, (long long)hour->now_ns, kind, command, command, end ? 480 : -1, end ? seq % 7 == 0 : -1);
    line(hour, hour->events_id, text);
    hour->events++;
}

static void draw_if_due(struct hour *hour)
{
    if (hour->now_ns - hour->frame_ns < FRAME_NS || !app_changed(hour->app))
        return;
    app_draw(hour->app, hour->grid);
    term_draw(hour->term, hour->grid, hour->frames == 0);
    drain(hour);
    hour->frame_ns = hour->now_ns;
    hour->frames++;
}

/* Time goes on to what comes next: a timer, a frame, an event. */
static void pass(struct hour *hour, int64_t until_ns)
{
    while (hour->now_ns < until_ns) {
        int64_t next = until_ns, frame = hour->frame_ns + FRAME_NS;
        bool timer = hour->timer_ns && hour->timer_ns < next;
        if (timer)
            next = hour->timer_ns > hour->now_ns ? hour->timer_ns : hour->now_ns;
        if (frame > hour->now_ns && frame < next)
            next = frame;
        timer = timer && hour->timer_ns <= next;
        hour->now_ns = next;
        if (timer) {
            hour->timer_ns = 0;
            send(hour, (struct message){.type = MESSAGE_TIME});
        }
        draw_if_due(hour);
    }
}

static int open_terminal(struct hour *hour)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    auto(error) struct error *err = NULL;
    int slave;
    require(openpty(&hour->master, &slave, NULL, NULL, &size) == 0);
    require(fcntl(hour->master, F_SETFL, O_NONBLOCK) == 0);
    struct term_options options = {.fd_in = slave, .fd_out = slave};
    if (term_create(&options, &hour->term, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err->message);
    return -1;
}

int main(void)
{
    struct hour hour = {.now_ns = BEGIN_NS};
    const struct app_options options = {.rows = 24, .columns = 80, .folder = "/"};
    if (open_terminal(&hour) < 0)
        return 1;
    hour.app = app_create(&options);
    hour.grid = grid_create(24, 80);
    send(&hour, (struct message){.type = MESSAGE_UP});
    send(&hour, (struct message){.type = MESSAGE_KEY, .key = {.code = 'j'}});
    require(hour.events_id);
    for (unsigned long seq = 1; hour.now_ns < BEGIN_NS + HOUR_NS; seq++) {
        event(&hour, seq);
        draw_if_due(&hour);
        pass(&hour, BEGIN_NS + (int64_t)seq * STEP_NS);
    }
    printf("{\"events\": %lu, \"frames\": %lu, \"bytes\": %lu}\n", hour.events, hour.frames, hour.bytes);
    app_free(hour.app);
    effects_finish(&hour.effects);
    grid_free(hour.grid);
    term_free(hour.term);
    return 0;
}
