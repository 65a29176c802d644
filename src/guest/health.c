#include "guest/health.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "guest/api.h"
#include "guest/net.h"
#include "guest/run.h"
#include "wire/hello.h"

#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define LOOK_MS        200 /* while PID 1 changes */
#define ASK_AGAIN_MS   500 /* systemd's socket is not there yet */
#define UNITS_MAX      400 /* bytes of names */
#define SMALL_FILE_MAX (64 * 1024)

enum phase { PHASE_AGENT, PHASE_SYSTEM, PHASE_READY, PHASE_FAILED };

static const char *const phase_names[] = {
    [PHASE_AGENT] = "agent", [PHASE_SYSTEM] = "system", [PHASE_READY] = "ready", [PHASE_FAILED] = "failed"};

struct health {
    struct agent *agent;
    enum phase phase;
    char *failed_units;
    uv_timer_t timer;
    uv_work_t work;
    /* of the running question */
    enum phase answer;
    char *answer_units;
};

/* Names of the units that failed, separated by blanks. */
static char *failed_units(const struct place *place)
{
    static const char *const argv[] = {"systemctl",   "list-units", "--failed", "--plain",
                                       "--no-legend", "--no-pager", NULL};
    autofree char *list = NULL;
    struct buf names;

    if (run_command(place, NULL, false, argv, &list, NULL, NULL))
        return NULL;
    buf_init(&names, UNITS_MAX);
    char *cursor = list, *line;
    while ((line = strsep(&cursor, "\n"))) {
        size_t len = strcspn(line, " \t");
        if (len && buf_printf(&names, NULL, "%s%.*s", names.len ? " " : "", (int)len, line))
            break;
    }
    char *text = buf_take_string(&names);
    buf_finish(&names);
    return text;
}

/* Waits for systemd's own verdict; on the pool. */
static void ask(uv_work_t *work)
{
    static const char *const argv[] = {"systemctl", "is-system-running", "--wait", NULL};
    struct health *health = work->data;
    const struct place *place = &health->agent->place;
    autofree char *word = NULL;
    int status;

    health->answer = PHASE_SYSTEM;
    /* any state but `running` is an exit status other than 0: the word is what counts */
    if (run_command(place, NULL, false, argv, &word, &status, NULL))
        return;
    if (!strcmp(word, "running") || !strcmp(word, "degraded"))
        health->answer = PHASE_READY;
    else if (!strcmp(word, "maintenance"))
        health->answer = PHASE_FAILED;
    if (health->answer != PHASE_SYSTEM && strcmp(word, "running") != 0)
        health->answer_units = failed_units(place);
}

static void look(uv_timer_t *timer);

static void on_answer(uv_work_t *work, int status)
{
    struct health *health = work->data;

    if (uv_is_closing((uv_handle_t *)&health->timer))
        return;
    health->phase = health->answer;
    free(health->failed_units);
    health->failed_units = steal(&health->answer_units);
    if (health->phase == PHASE_SYSTEM) {
        uv_timer_start(&health->timer, look, ASK_AGAIN_MS, 0);
        return;
    }
    log_info("the system is %s%s%s", phase_names[health->phase], health->failed_units ? ", failed: " : "",
             health->failed_units ? health->failed_units : "");
    place_link_helper(&health->agent->place);
}

/* The program that PID 1 is: its name, and whether it is systemd. */
static bool init_took_over(bool *ret_systemd)
{
    char target[4096];
    autofree char *comm = NULL;

    ssize_t n = readlink("/proc/1/exe", target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = '\0';
    const char *base = strrchr(target, '/');
    *ret_systemd = base && !strcmp(base, "/systemd");
    if (file_read("/proc/1/comm", 256, &comm, NULL, NULL))
        return false;
    return strncmp(comm, "hutch-guest", 11) != 0;
}

static void look(uv_timer_t *timer)
{
    struct health *health = timer->data;
    bool systemd;

    if (file_exists("/run/systemd/system")) {
        health->phase = PHASE_SYSTEM;
        health->work.data = health;
        uv_queue_work(&health->agent->loop, &health->work, ask, on_answer);
    } else if (init_took_over(&systemd) && !systemd) {
        health->phase = PHASE_READY;
    } else {
        uv_timer_start(timer, look, LOOK_MS, 0);
    }
}

struct health *health_create(struct agent *agent)
{
    struct health *health = xnew(struct health);

    health->agent = agent;
    uv_timer_init(&agent->loop, &health->timer);
    health->timer.data = health;
    look(&health->timer);
    return health;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct health *health = handle->data;
    free(health->failed_units);
    free(health);
}

void health_destroy(struct health *health)
{
    if (health)
        uv_close((uv_handle_t *)&health->timer, on_timer_closed);
}

/* One value of a file of "KEY=value" lines, without quotes. Caller frees; NULL. */
static char *file_value(const char *path, const char *key)
{
    autofree char *data = NULL;
    size_t key_len = strlen(key);

    if (file_read(path, SMALL_FILE_MAX, &data, NULL, NULL))
        return NULL;
    char *cursor = data, *line;
    while ((line = strsep(&cursor, "\n"))) {
        if (strncmp(line, key, key_len) || line[key_len] != '=')
            continue;
        char *value = line + key_len + 1;
        size_t len = strlen(value);
        if (len >= 2 && *value == '"' && value[len - 1] == '"')
            return xstrndup(value + 1, len - 2);
        return xstrdup(value);
    }
    return NULL;
}

static json_int_t memory(const char *data, const char *key)
{
    const char *at = data ? strstr(data, key) : NULL;
    return at ? (json_int_t)strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static void set_text(json_t *o, const char *key, const char *text)
{
    if (text)
        json_object_set_new(o, key, json_bytes(text, strlen(text)));
}

void health_show(struct call *call)
{
    const struct health *health = call->agent->health;
    struct utsname names = {.release = ""};
    struct statvfs disk = {.f_blocks = 0};
    autofree char *boot_id = NULL, *memory_data = NULL, *os = file_value("/etc/os-release", "PRETTY_NAME");
    struct timespec uptime = {0};

    uname(&names);
    clock_gettime(CLOCK_BOOTTIME, &uptime);
    if (file_read("/proc/sys/kernel/random/boot_id", 64, &boot_id, NULL, NULL) == 0)
        boot_id[strcspn(boot_id, "\n")] = '\0';
    file_read("/proc/meminfo", SMALL_FILE_MAX, &memory_data, NULL, NULL);
    if (statvfs("/", &disk))
        disk.f_blocks = 0;

    json_t *o = json_pack(
        "{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "version", HELLO_VERSION, "phase",
        phase_names[health->phase], "boot_id", boot_id ? boot_id : "", "time_ns", (json_int_t)units_now_ns(),
        "uptime_ms", (json_int_t)uptime.tv_sec * 1000 + uptime.tv_nsec / 1000000, "memory_total",
        memory(memory_data, "MemTotal:"), "memory_available", memory(memory_data, "MemAvailable:"),
        "disk_size", (json_int_t)((uint64_t)disk.f_blocks * disk.f_frsize), "disk_free",
        (json_int_t)((uint64_t)disk.f_bavail * disk.f_frsize));
    require(o != NULL);
    set_text(o, "hostname", names.nodename);
    set_text(o, "kernel", names.release);
    set_text(o, "os", os);
    set_text(o, "failed_units", health->failed_units);
    net_show(call->agent->net, o);
    call_reply(call, o);
}
