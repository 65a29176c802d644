/* package_hosts.c: where the machine's package tools fetch from, as they say themselves. The image's own
 * program asks them; it runs as the user of sessions, whose settings count. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"
#include "guest/api.h"
#include "guest/run.h"
#include "guest/user.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM   "/usr/lib/hutch/package-hosts"
#define LIMIT     "120" /* seconds; emulated, npm alone needs ten */
#define HOSTS_MAX 64
#define WORDS     4

struct ask {
    uv_work_t work;
    struct call *call;
    json_t *hosts;
    struct error *err;
};

/* "debian http mirror.test 80" as an object; NULL: it is no such line. */
static json_t *host_of(char *line)
{
    const char *words[WORDS];
    uint64_t port;

    for (size_t i = 0; i < WORDS; i++) {
        words[i] = strsep(&line, " ");
        if (!words[i] || !*words[i])
            return NULL;
    }
    if (line || units_parse_number(words[3], 1, UINT16_MAX, &port, NULL) < 0)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:I}", "preset", words[0], "scheme", words[1], "host", words[2], "port",
                     (json_int_t)port);
}

/* On the pool. Gently: a machine that starts has other things to do. */
static void run(uv_work_t *work)
{
    struct ask *ask = work->data;
    const struct place *place = &ask->call->agent->place;
    const char *const argv[] = {"nice", "-n", "19", "timeout", "-k", "5", LIMIT, PROGRAM, NULL};
    auto(user) struct user *user = NULL;
    autofree char *out = NULL;
    char number[16];

    ask->hosts = json_array();
    if (!file_exists(PROGRAM) || user_find(NULL, &user, &ask->err) < 0)
        return;
    snprintf(number, sizeof(number), "%u", (unsigned)user->uid);
    if (run_command(place, number, false, argv, &out, NULL, &ask->err) < 0)
        return;
    char *cursor = out, *line;
    while ((line = strsep(&cursor, "\n")) && json_array_size(ask->hosts) < HOSTS_MAX) {
        json_t *host = host_of(line);
        if (host)
            json_array_append_new(ask->hosts, host);
    }
}

static void writer_gone(struct json_writer *writer, void *user)
{
}

static void answer(uv_work_t *work, int status)
{
    struct ask *ask = work->data;
    struct call *call = ask->call;
    size_t i;
    json_t *host;

    call->on_gone = NULL;
    if (ask->err || !call->stream) {
        call_fail(call, steal(&ask->err));
    } else {
        struct json_writer *writer = json_writer_create(call->stream, writer_gone, NULL);
        json_array_foreach(ask->hosts, i, host)
        {
            json_writer_line(writer, host);
        }
        json_writer_end(writer);
        call_free(call);
    }
    json_decref(ask->hosts);
    free(ask);
}

/* The client went away: the call is freed when the work is done. */
static void gone(struct call *call)
{
}

void package_hosts_list(struct call *call)
{
    struct ask *ask = xnew(struct ask);

    ask->call = call;
    ask->work.data = ask;
    call->on_gone = gone;
    uv_queue_work(&call->agent->loop, &ask->work, run, answer);
}
