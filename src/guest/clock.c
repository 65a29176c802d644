#include "base/log.h"
#include "base/units.h"
#include "guest/api.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define YEAR_2000_NS 946684800000000000ll
#define STEP_NS      1000000000ll /* more than this is worth a line */

/* A clock that is not ours to set is not an error of the caller's body. */
static int check_machine(const struct call *call, struct error **err)
{
    if (call->agent->place.machine)
        return 0;
    return error_set(err, ERROR_STATE,
                     "this hutch-guest runs outside a machine and leaves the host's clock alone");
}

void clock_set(struct call *call)
{
    int64_t ns;
    struct error *err = NULL;

    int rc = json_get_number(call->body, "time_ns", YEAR_2000_NS, INT64_MAX, &ns, &err);
    if (!rc)
        rc = check_machine(call, &err);
    if (!rc) {
        int64_t step = ns - units_now_ns();
        const struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
        if (clock_settime(CLOCK_REALTIME, &time))
            rc = error_set_errno(&err, errno, "cannot set the clock");
        else if (llabs(step) > STEP_NS)
            log_info("the clock was set by %lld ms", (long long)(step / 1000000));
    }
    if (rc)
        call_fail(call, err);
    else
        call_reply(call, NULL);
}
