#include "diff/budget.h"

#include <time.h>

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void budget_begin(struct budget *budget, unsigned wall_s)
{
    *budget = (struct budget){.deadline_ms = wall_s ? now_ms() + (int64_t)wall_s * 1000 : 0};
}

int budget_check(const struct budget *budget, struct error **err)
{
    if (!budget->deadline_ms || now_ms() < budget->deadline_ms)
        return 0;
    return error_set(err, ERROR_TIMED_OUT, "the comparison took more than its time");
}
