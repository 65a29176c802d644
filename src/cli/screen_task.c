/* What the screen asks of hutchd: each effect with an answer is a task until its answer was given to the
 * model. Nothing is given from inside of the connection's work: the pump takes what lies there, a piece of
 * each task in turn. */
#include "base/alloc.h"
#include "base/units.h"
#include "cli/screen_internal.h"

struct task {
    struct screen *screen;
    uint64_t id;
    enum effect_type type;
    struct async *async; /* NULL: its end is err */
    struct error *err;
    json_t *result; /* of lines */
    bool ready;     /* there may be something to take */
    bool leaving;   /* cancelled: ends when its bytes are sent */
    struct task *next;
};

static void task_free(struct task *task)
{
    async_free(task->async);
    error_free(task->err);
    json_decref(task->result);
    free(task);
}

/* Takes a task out of the list. */
static void task_remove(struct screen *screen, const struct task *task)
{
    for (struct task **at = &screen->tasks; *at; at = &(*at)->next) {
        if (*at == task) {
            *at = task->next;
            return;
        }
    }
}

static struct task *task_find(const struct screen *screen, uint64_t id)
{
    struct task *task = screen->tasks;
    while (task && (task->id != id || task->leaving))
        task = task->next;
    return task;
}

/* Makes a task, at the end of the list. */
static struct task *task_add(struct screen *screen, uint64_t id, enum effect_type type)
{
    struct task *task = xnew(struct task);
    struct task **end = &screen->tasks;
    while (*end)
        end = &(*end)->next;
    *end = task;
    task->screen = screen;
    task->id = id;
    task->type = type;
    return task;
}

static void on_ready(struct async *async, void *user)
{
    struct task *task = user;
    task->ready = true;
}

void task_answer(struct screen *screen, uint64_t id, struct error *err)
{
    struct task *task = task_add(screen, id, EFFECT_CALL);
    task->err = err;
    task->ready = true;
    screen_again(screen);
}

void task_start(struct screen *screen, struct effect *effect)
{
    static const enum async_kind kinds[] = {
        [EFFECT_CALL] = ASYNC_WHOLE,
        [EFFECT_LINES] = ASYNC_LINES,
        [EFFECT_BYTES] = ASYNC_BYTES,
        [EFFECT_WRITE] = ASYNC_WHOLE,
    };
    struct task *task = task_add(screen, effect->id, effect->type);
    const struct async_options options = {
        .kind = kinds[effect->type],
        .method = effect->method ? effect->method : "GET",
        .path = effect->path,
        .body = effect->body,
        .upload = effect->type == EFFECT_WRITE,
        .bytes = effect->type == EFFECT_CALL && effect->bytes.len ? buf_data(&effect->bytes) : NULL,
        .len = effect->bytes.len,
        .on_ready = on_ready,
    };
    int rc = screen->up ? async_start(screen->client, &options, task, &task->async, &task->err)
                        : client_lost_error(screen->client, &task->err);
    if (rc < 0) {
        task->ready = true;
        screen_again(screen);
    }
}

void task_write(struct screen *screen, struct effect *effect)
{
    struct task *task = task_find(screen, effect->id);
    if (!task && effect->path) {
        task_start(screen, effect);
        task = task_find(screen, effect->id);
    }
    /* One that has ended takes nothing more: its answer is on the way. Half of a paste is never sent. */
    if (task && task->async &&
        async_write(task->async, buf_data(&effect->bytes), effect->bytes.len, NULL) < 0 && screen->term)
        term_bell(screen->term);
}

void task_cancel(struct screen *screen, uint64_t id)
{
    struct task *task = task_find(screen, id);
    if (!task)
        return;
    if (task->async && async_waiting(task->async) > 0) {
        task->leaving = true;
        return;
    }
    task_remove(screen, task);
    task_free(task);
}

void task_drop_all(struct screen *screen)
{
    while (screen->tasks) {
        struct task *task = screen->tasks;
        screen->tasks = task->next;
        task_free(task);
    }
}

bool task_sending(const struct screen *screen)
{
    for (const struct task *task = screen->tasks; task; task = task->next)
        if (task->async && !async_over(task->async) && async_waiting(task->async) > 0)
            return true;
    return false;
}

/* ---- the pump ---- */

/* The end of a task: the model gets its answer. */
static void give_answer(struct screen *screen, struct task *task)
{
    struct message message = {.type = MESSAGE_ANSWER, .id = task->id, .error = task->err};
    json_t *body = NULL;
    if (task->async && !task->err)
        async_result(task->async, &body, &message.error);
    message.body = message.error ? NULL : task->result ? task->result : body;
    task_remove(screen, task);
    screen_message(screen, &message);
    task_free(task);
}

/* The two lines that can end a list are kept apart. */
static bool last_line(struct task *task, json_t *line)
{
    if (json_object_size(line) != 1)
        return false;
    json_t *result = json_object_get(line, "result");
    if (result) {
        json_decref(task->result);
        task->result = json_incref(result);
        return true;
    }
    if (!json_object_get(line, "error"))
        return false;
    error_free(steal(&task->err));
    json_to_error(line, &task->err);
    return true;
}

/* Some lines. A message can cancel the task: it is looked for anew after each. */
static void give_lines(struct screen *screen, struct task *task)
{
    uint64_t id = task->id;
    for (int i = 0; i < SCREEN_LINES && task_find(screen, id) == task; i++) {
        auto(json) json_t *line = NULL;
        if (async_line(task->async, &line) <= 0) {
            task->ready = async_over(task->async);
            return;
        }
        if (last_line(task, line))
            continue;
        struct message message = {.type = MESSAGE_LINE, .id = id, .body = line};
        screen_message(screen, &message);
    }
}

static void give_bytes(struct screen *screen, struct task *task)
{
    const uint8_t *bytes;
    size_t len = async_bytes(task->async, &bytes);
    if (len == 0) {
        task->ready = async_over(task->async);
        return;
    }
    if (len > SCREEN_SLICE)
        len = SCREEN_SLICE;
    /* A copy: the message may end the task. */
    autofree uint8_t *copy = xmemdup(bytes, len);
    struct message message = {.type = MESSAGE_BYTES,
                              .id = task->id,
                              .bytes = copy,
                              .len = len,
                              .offset = async_offset(task->async)};
    async_taken(task->async, len);
    screen_message(screen, &message);
}

/* One piece of one task. */
static void give(struct screen *screen, struct task *task)
{
    if (!task->async || async_over(task->async))
        give_answer(screen, task);
    else if (task->type == EFFECT_LINES)
        give_lines(screen, task);
    else if (task->type == EFFECT_BYTES)
        give_bytes(screen, task);
    else
        task->ready = false;
}

/* Frees what was cancelled and has sent its bytes. */
static void end_leaving(struct screen *screen)
{
    struct task *next;
    for (struct task *task = screen->tasks; task; task = next) {
        next = task->next;
        if (!task->leaving || (async_waiting(task->async) > 0 && !async_over(task->async)))
            continue;
        task_remove(screen, task);
        task_free(task);
    }
}

/* The first that has something. */
static struct task *next_ready(const struct screen *screen)
{
    struct task *task = screen->tasks;
    while (task && (!task->ready || task->leaving))
        task = task->next;
    return task;
}

/* To the end of the list, so that all get their turn. */
static void to_the_end(struct screen *screen, struct task *task)
{
    task_remove(screen, task);
    task->next = NULL;
    struct task **end = &screen->tasks;
    while (*end)
        end = &(*end)->next;
    *end = task;
}

bool task_pump(struct screen *screen)
{
    int64_t until = units_monotonic_ns() + SCREEN_BUDGET_NS;
    struct task *task;
    end_leaving(screen);
    while (!screen->quit && (task = next_ready(screen))) {
        to_the_end(screen, task);
        give(screen, task);
        if (units_monotonic_ns() >= until)
            break;
    }
    return !screen->quit && next_ready(screen);
}
