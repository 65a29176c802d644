/* power.c: the machine goes down in its own order, and without an init that does it, by the kernel. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/api.h"
#include "guest/run.h"

#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#define ANSWER_MS 100 /* for the answer to leave before anything goes down */

struct power {
    struct agent *agent;
    uv_timer_t timer;
    uv_work_t work;
    bool reboot;
};

/* Asks the init system. False: it cannot. */
static bool ask_init(const struct power *power)
{
    const char *verb = power->reboot ? "reboot" : "poweroff";
    const char *const systemd[] = {"systemctl", "--no-block", verb, NULL};
    const char *const other[] = {verb, NULL};
    auto(error) struct error *err = NULL;

    const char *const *argv = file_exists("/run/systemd/system") ? systemd : other;
    if (run_command(&power->agent->place, NULL, false, argv, NULL, NULL, &err) == 0)
        return true;
    log_warning("%s", err->message);
    return false;
}

static void go_down(uv_work_t *work)
{
    struct power *power = work->data;

    if (ask_init(power))
        return;
    sync();
    reboot(power->reboot ? RB_AUTOBOOT : RB_POWER_OFF);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_done(uv_work_t *work, int status)
{
    struct power *power = work->data;
    uv_close((uv_handle_t *)&power->timer, on_closed);
}

static void on_time(uv_timer_t *timer)
{
    struct power *power = timer->data;
    uv_queue_work(&power->agent->loop, &power->work, go_down, on_done);
}

void power_set(struct call *call)
{
    const char *action = NULL;
    struct error *err = NULL;

    int rc = json_get_string(call->body, "action", 16, &action, &err);
    if (!rc && strcmp(action, "poweroff") != 0 && strcmp(action, "reboot") != 0)
        rc = error_set(&err, ERROR_INVALID, "'%s' is neither poweroff nor reboot", action);
    if (!rc && !call->agent->place.machine)
        rc = error_set(&err, ERROR_STATE, "this hutch-guest runs outside a machine and leaves the host up");
    if (rc) {
        call_fail(call, err);
        return;
    }
    struct power *power = xnew(struct power);
    power->agent = call->agent;
    power->reboot = !strcmp(action, "reboot");
    power->work.data = power->timer.data = power;
    uv_timer_init(&call->agent->loop, &power->timer);
    uv_timer_start(&power->timer, on_time, ANSWER_MS, 0);
    log_info("the machine goes down: %s", action);
    call_reply(call, NULL);
}
