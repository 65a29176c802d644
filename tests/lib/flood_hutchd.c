/* A hutchd that has much to say: many projects, a large store of events that grows, sessions that print. All
 * of it is made from numbers, so nothing is kept. What was asked is appended to $HUTCH_HOME/requests, what
 * was typed into a session to $HUTCH_HOME/typed.
 *
 *   FLOOD_PROJECTS   200      p000, p001 …, all of them run
 *   FLOOD_EVENTS     100000   in the store at the start
 *   FLOOD_RATE       0        new ones a second
 *   FLOOD_ACTS                set: each event is an act, so that all that is known of its project is old
 *   FLOOD_WHOLE               set: gives all of the store, whatever limit was asked for
 *   FLOOD_FILE                what a session prints, again and again; else lines with their number
 *   FLOOD_BYTES      0        how much of it; then a line "the flood is over"
 *   FLOOD_FAULT               how it does wrong, but for the greeting: see `faults`
 *   FLOOD_SECONDS    300      after which it ends */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/units.h"
#include "wire/json.h"
#include "wire/link.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TURN_MS  10
#define LINE     4096
#define PASS     20 /* events of one pass over nine projects */
#define FILE_MAX (512 << 20)

struct fault;
static struct {
    int64_t projects, events, rate, bytes;
    bool whole, acts;
    const struct fault *fault;
    uv_loop_t *loop;
    char *text; /* what sessions print */
    size_t text_len;
    char *requests, *typed;
    int64_t begun_ns, last; /* last: number of the newest event */
    struct stream *streams;
    unsigned sessions;
} flood;

#define LATE_MS 3000
/* What is wrong with answers: they are late, or these bytes, once or without end, which end whole or cut. */
static const struct fault {
    const char *name, *bytes;
    bool endless, cut;
} faults[] = {
    {"slow", NULL, false, false},
    {"silent", "", true, false},
    {"half", "{\"id\":\"id-0\",\"name\":\"p0", false, false},
    {"cut", "{\"id\":\"id-0\",\"name\":\"p000\",\"state\":\"run\"}\n{\"id\":", false, true},
    {"no-json", "\033[2J<html>\n\n\n", false, false},
    {"endless", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", true, false},
    {"nested", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", true, false},
    {"types", "{\"id\":7,\"name\":[\"x\"],\"seq\":\"a\"}\n[1]\n\"x\"\nnull\n{\"result\":[],\"error\":7}\n",
     false, false},
    {"errors", "{\"error\":{\"code\":[],\"message\":{}}}\n", false, false},
    {"names", "{\"id\":\"\",\"name\":\"\\u001b]0;x\\u0007\",\"state\":\"\\u202e\"}\n", true, false},
};

/* A body that is written as its window opens. */
struct stream {
    struct h2_stream *h2;
    bool prints, wrong;
    int64_t next, end; /* events: numbers; a session: bytes. end -1: it goes on */
    struct buf held;   /* made, but not taken yet */
    struct stream *link;
};

static int64_t number(const char *name, int64_t usual)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : usual;
}

static void note(const char *path, const void *bytes, size_t len)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    fd_write_all(fd, bytes, len, NULL);
}

/* ---- what there is ---- */

/* When an event was, a millisecond apart before the start. */
static int64_t time_of(int64_t seq)
{
    int64_t new = seq - flood.events;
    return flood.begun_ns + (new > 0 && flood.rate > 0 ? new * 1000000000 / flood.rate : new * 1000000);
}

/* A pass is nine commands with their ends, a file that goes in, and one that comes out or an act. */
static int event_line(int64_t seq, char *ret, size_t size)
{
    int64_t pass = seq / PASS, step = seq % PASS;
    int64_t project = (pass * 9 + step / 2) % flood.projects;
    bool command = step < PASS - 2, end = command && step % 2;
    if (flood.acts)
        command = end = false, step = PASS - 1, pass = 0;
    const char *kind = end                                ? "exec.end"
                       : command                          ? "exec.start"
                       : step == PASS - 2                 ? "file.put"
                       : pass % 10 == 0 && flood.rate > 0 ? "lifecycle.resume"
                                                          : "file.get";
    int n = snprintf(ret, size,
                     "{\"seq\":%lld,\"ts_ns\":%lld,\"project\":\"p%03lld\",\"kind\":\"%s\",\"actor\":\"you\","
                     "\"subject\":\"make -C src part-%lld test\"",
                     (long long)seq, (long long)time_of(seq), (long long)project, kind,
                     (long long)(end ? seq - 1 : seq));
    if (command)
        n += snprintf(ret + n, size - (size_t)n, ",\"session\":\"s%lld\"", (long long)(end ? seq - 1 : seq));
    if (end)
        n += snprintf(ret + n, size - (size_t)n, ",\"ms\":%lld,\"exit\":%d", (long long)(seq % 977),
                      seq % 7 == 0 ? 1 : 0);
    return n + snprintf(ret + n, size - (size_t)n, "}\n");
}

/* The bytes of a session from an offset on. */
static size_t print(int64_t at, char *ret, size_t size)
{
    size_t from = (size_t)at % flood.text_len,
           n = flood.text_len - from < size ? flood.text_len - from : size;
    memcpy(ret, flood.text + from, n);
    return n;
}

static json_t *project_json(int64_t i, bool full)
{
    autofree char *name = xasprintf("p%03lld", (long long)i), *id = xasprintf("id-%lld", (long long)i);
    json_t *project =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:I, s:I, s:I, s:s}", "id", id, "name", name,
                  "state", "run", "template", "debian-13", "agent", "", "waiting", (json_int_t)0, "disk",
                  (json_int_t)(i << 24), "cpus", 2, "memory", (json_int_t)1 << 30, "disk_size",
                  (json_int_t)16 << 30, "created_ns", (json_int_t)time_of(i), "accel", "kvm");
    if (full)
        json_object_set_new(project, "vm", json_object());
    return project;
}

static json_t *session_json(const char *id)
{
    return json_pack("{s:s, s:s, s:b, s:i, s:s, s:s, s:s, s:I}", "id", id, "state", "running", "pty", 1,
                     "pid", 1, "command", "bash", "cwd", "/home/agent", "user", "agent", "started_ns",
                     (json_int_t)flood.begun_ns);
}

/* ---- bodies ---- */

/* The next piece of a body; false: there is none now. */
static bool make(struct stream *stream)
{
    char piece[4 * LINE];
    size_t n = 0;
    if (stream->wrong) {
        bool more = *flood.fault->bytes && (flood.fault->endless || stream->next == 0);
        if (more)
            buf_append(&stream->held, flood.fault->bytes, strlen(flood.fault->bytes), NULL);
        stream->next++;
        return more;
    }
    if (stream->prints && stream->end >= 0 && stream->next >= stream->end)
        return false;
    if (stream->prints) {
        n = print(stream->next, piece, sizeof(piece));
        if (stream->end >= 0 && stream->next + (int64_t)n > stream->end)
            n = (size_t)(stream->end - stream->next);
        stream->next += (int64_t)n;
        buf_append(&stream->held, piece, n, NULL);
        if (stream->next == stream->end)
            buf_printf(&stream->held, NULL, "\r\nthe flood is over\r\n");
        return true;
    }
    while (n + LINE < sizeof(piece) && stream->next <= flood.last)
        n += (size_t)event_line(stream->next++, piece + n, sizeof(piece) - n);
    buf_append(&stream->held, piece, n, NULL);
    return n > 0;
}

static void move(struct h2_stream *h2, void *user)
{
    struct stream *stream = user;
    while (stream->held.len > 0 || make(stream)) {
        size_t taken = h2_stream_write(h2, buf_data(&stream->held), stream->held.len);
        buf_consume(&stream->held, taken);
        if (stream->held.len > 0)
            return;
    }
    if (stream->wrong && flood.fault->cut)
        h2_stream_reset(h2, H2_INTERNAL_ERROR);
    else if (!stream->prints && stream->end >= 0 && !(stream->wrong && flood.fault->endless))
        h2_stream_end(h2);
}

static void closed(struct h2_stream *h2, uint32_t code, void *user)
{
    struct stream *stream = user, **at = &flood.streams;
    while (*at != stream)
        at = &(*at)->link;
    *at = stream->link;
    buf_finish(&stream->held);
    free(stream);
}

static void start_body(struct h2_stream *h2, bool prints, int64_t next, int64_t end)
{
    static const struct h2_stream_ops ops = {.on_writable = move, .on_close = closed};
    autofree char *offset = xasprintf("%lld", (long long)next);
    const struct h2_field fields[] = {{"hutch-offset", offset}};
    struct stream *stream = xnew(struct stream);
    *stream = (struct stream){.h2 = h2, .prints = prints, .next = next, .end = end, .link = flood.streams};
    stream->wrong = flood.fault && flood.fault->bytes;
    flood.streams = stream;
    buf_init(&stream->held, 0);
    h2_stream_set_ops(h2, &ops, stream);
    require(h2_respond(h2, 200, fields, 1, true, NULL) == 0);
    move(h2, stream);
}

static void on_turn(uv_timer_t *timer)
{
    flood.last = flood.events + (units_now_ns() - flood.begun_ns) * flood.rate / 1000000000;
    for (struct stream *stream = flood.streams, *next; stream; stream = next) {
        next = stream->link;
        if (!stream->prints)
            move(stream->h2, stream);
    }
}

static void lines_of(struct h2_stream *h2, json_t *(*line)(int64_t i), int64_t count)
{
    struct json_writer *writer = json_writer_create(h2, NULL, NULL);
    for (int64_t i = 0; i < count; i++) {
        auto(json) json_t *json = line(i);
        json_writer_line(writer, json);
    }
    json_writer_end(writer);
}

/* ---- typed ---- */

static void typed_data(struct h2_stream *h2, const uint8_t *data, size_t len, void *user)
{
    note(flood.typed, data, len);
    h2_stream_consumed(h2, len);
}

static void typed_end(struct h2_stream *h2, void *user)
{
    auto(json) json_t *empty = json_object();
    json_reply(h2, 200, empty);
}

/* ---- routes ---- */

static json_t *short_project(int64_t i)
{
    return project_json(i, false);
}

static json_t *short_session(int64_t i)
{
    autofree char *id = xasprintf("flood-%lld", (long long)i);
    return session_json(id);
}

static int64_t query(const char *path, const char *key, int64_t usual)
{
    autofree char *text = NULL;
    json_query(path, key, &text, NULL, NULL);
    return text ? strtoll(text, NULL, 10) : usual;
}

static void events_request(struct h2_stream *h2, const char *path)
{
    int64_t after = query(path, "after", 0), limit = flood.whole ? 0 : query(path, "limit", 0);
    if (limit > 0 && after == 0 && flood.last > limit)
        after = flood.last - limit;
    start_body(h2, false, after + 1, query(path, "follow", 0) ? -1 : flood.last);
}

static void session_request(struct h2_stream *h2, const char *rest, const char *path)
{
    static const struct h2_stream_ops typed = {.on_data = typed_data, .on_end = typed_end};
    autofree char *id = xstrndup(rest, strcspn(rest, "/?"));
    rest += strlen(id);
    if (strncmp(rest, "/stdout", 7) == 0)
        start_body(h2, true, query(path, "from", 0), flood.bytes);
    else if (strncmp(rest, "/stdin", 6) == 0)
        h2_stream_set_ops(h2, &typed, NULL);
    else if (strncmp(rest, "/wait", 5) != 0 && strncmp(rest, "/stderr", 7) != 0) {
        auto(json) json_t *session = session_json(id);
        json_reply(h2, 200, session);
    }
}

static void project_request(struct h2_stream *h2, const struct h2_head *head, const char *rest)
{
    int64_t i = strtoll(rest + 1, NULL, 10);
    const char *slash = strchr(rest, '/');
    static const char sessions[] = "/sessions";
    auto(json) json_t *answer = NULL;
    if (!slash)
        answer = project_json(i, true);
    else if (strncmp(slash, sessions, strlen(sessions)) != 0)
        answer = json_object();
    else if (slash[strlen(sessions)] == '/')
        session_request(h2, slash + strlen(sessions) + 1, head->path);
    else if (strcmp(head->method, "POST") == 0)
        answer = short_session(flood.sessions++);
    else
        lines_of(h2, short_session, flood.sessions);
    if (answer)
        json_reply(h2, 200, answer);
}

/* ---- doing wrong ---- */

/* A request whose answer comes late. */
struct late {
    uv_timer_t timer;
    struct h2_stream *h2; /* NULL: nobody waits any more */
    char *method, *path;
};

static void answer(struct h2_stream *h2, const struct h2_head *head);

static void late_gone(struct h2_stream *h2, uint32_t code, void *user)
{
    ((struct late *)user)->h2 = NULL;
}

static void late_over(uv_handle_t *handle)
{
    struct late *late = handle->data;
    free(late->method);
    free(late->path);
    free(late);
}

static void late_answer(uv_timer_t *timer)
{
    struct late *late = timer->data;
    const struct h2_head head = {.method = late->method, .path = late->path};
    if (late->h2) {
        h2_stream_set_ops(late->h2, NULL, NULL);
        answer(late->h2, &head);
    }
    uv_close((uv_handle_t *)timer, late_over);
}

static void do_wrong(struct h2_stream *h2, const struct h2_head *head)
{
    static const struct h2_stream_ops ops = {.on_close = late_gone};
    if (flood.fault->bytes) {
        start_body(h2, false, 0, 0);
        return;
    }
    struct late *late = xnew(struct late);
    *late = (struct late){.h2 = h2, .method = xstrdup(head->method), .path = xstrdup(head->path)};
    uv_timer_init(flood.loop, &late->timer);
    late->timer.data = late;
    h2_stream_set_ops(h2, &ops, late);
    uv_timer_start(&late->timer, late_answer, LATE_MS, 0);
}

static void on_request(struct h2_session *session, struct h2_stream *h2, const struct h2_head *head,
                       void *user)
{
    autofree char *line = xasprintf("%s %s\n", head->method, head->path);
    note(flood.requests, line, strlen(line));
    if (flood.fault && strcmp(head->path, "/v1/version") != 0)
        do_wrong(h2, head);
    else
        answer(h2, head);
}

static void answer(struct h2_stream *h2, const struct h2_head *head)
{
    static const char projects[] = "/v1/projects";
    auto(json) json_t *answer = NULL;
    if (strcmp(head->path, "/v1/version") == 0)
        answer = json_pack("{s:s, s:i, s:i}", "version", "flood", "protocol", 1, "pid", (int)getpid());
    else if (strcmp(head->path, "/v1/status") == 0)
        answer = json_pack("{s:I, s:{s:b, s:I}}", "projects", (json_int_t)flood.projects, "host", "kvm", 1,
                           "disk_free", (json_int_t)61 << 30);
    else if (strncmp(head->path, "/v1/events", 10) == 0)
        events_request(h2, head->path);
    else if (strcmp(head->path, projects) == 0)
        lines_of(h2, short_project, flood.projects);
    else if (strncmp(head->path, projects, strlen(projects)) == 0)
        project_request(h2, head, head->path + strlen(projects) + 1);
    else {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_NOT_FOUND, "nothing is called that");
        json_reply_error(h2, err);
    }
    if (answer)
        json_reply(h2, 200, answer);
}

static void on_over(struct link *link, const struct error *err, void *user)
{
    link_close(link, false);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    static const struct link_ops ops = {.session = {.on_request = on_request}, .on_over = on_over};
    static const struct h2_options trusted = {.trusted = true};
    int fd = accept4(*(int *)poll->data, NULL, NULL, SOCK_CLOEXEC);
    struct link *link;
    if (fd >= 0)
        require(link_create(poll->loop, fd, H2_SERVER, &trusted, &ops, NULL, NULL, 0, &link, NULL) == 0);
}

static int set_up(int *ret_listener, struct error **err)
{
    auto(paths) struct paths *paths = NULL;
    const char *file = getenv("FLOOD_FILE");
    flood.projects = number("FLOOD_PROJECTS", 200);
    flood.last = flood.events = number("FLOOD_EVENTS", 100000);
    flood.rate = number("FLOOD_RATE", 0);
    flood.bytes = number("FLOOD_BYTES", 0);
    flood.whole = getenv("FLOOD_WHOLE");
    flood.acts = getenv("FLOOD_ACTS");
    const char *fault = getenv("FLOOD_FAULT");
    for (size_t i = 0; fault && i < countof(faults); i++)
        if (strcmp(faults[i].name, fault) == 0)
            flood.fault = &faults[i];
    if (fault && !flood.fault)
        return error_set(err, ERROR_USAGE, "there is no fault \"%s\"", fault);
    flood.begun_ns = units_now_ns();
    int rc = paths_find(&paths, err);
    if (rc < 0)
        return rc;
    flood.requests = file_join(getenv("HUTCH_HOME"), "requests");
    flood.typed = file_join(getenv("HUTCH_HOME"), "typed");
    if (file && *file) {
        rc = file_read(file, FILE_MAX, &flood.text, &flood.text_len, err);
    } else {
        struct buf text;
        buf_init(&text, 0);
        for (int i = 0; i < 10000; i++)
            buf_printf(&text, NULL, "\033[32m[%4d/10000]\033[0m Compiling part-%d.c of a program\r\n", i,
                       i * 7);
        flood.text_len = text.len;
        flood.text = buf_take_string(&text);
    }
    return rc < 0 ? rc : fd_unix_listen(paths->socket, SOCK_STREAM, 0600, ret_listener, err);
}

int main(void)
{
    auto(error) struct error *err = NULL;
    int listener;
    uv_loop_t loop;
    uv_poll_t poll;
    uv_timer_t turn;
    signal(SIGPIPE, SIG_IGN);
    alarm((unsigned)number("FLOOD_SECONDS", 300));
    if (set_up(&listener, &err) < 0) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    uv_loop_init(&loop);
    flood.loop = &loop;
    uv_poll_init(&loop, &poll, listener);
    poll.data = &listener;
    uv_poll_start(&poll, UV_READABLE, on_connection);
    uv_timer_init(&loop, &turn);
    if (flood.rate > 0)
        uv_timer_start(&turn, on_turn, TURN_MS, TURN_MS);
    return uv_run(&loop, UV_RUN_DEFAULT);
}
