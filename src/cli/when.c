#include "cli/when.h"

#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000LL

int when_parse(const char *text, int64_t now_ns, int64_t *ret_ns, struct error **err)
{
    static const char *const formats[] = {"%Y-%m-%d",          "%Y-%m-%dT%H:%M",    "%Y-%m-%d %H:%M",
                                          "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", NULL};
    uint64_t seconds;
    if (units_parse_duration(text, &seconds, NULL) == 0) {
        int64_t back = seconds > (uint64_t)(now_ns / SECOND_NS) ? now_ns : (int64_t)seconds * SECOND_NS;
        *ret_ns = now_ns - back;
        return 0;
    }
    for (size_t i = 0; formats[i]; i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &tm);
        if (!end || (*end && strcmp(end, "Z") != 0))
            continue;
        time_t at = *end ? timegm(&tm) : mktime(&tm);
        if (at < 0)
            break;
        *ret_ns = at * SECOND_NS;
        return 0;
    }
    autofree char *safe = text_safe(text);
    error_set(err, ERROR_USAGE, _("\"%s\" is no time"), safe);
    return error_hint(err, _("2h, 3d, 2026-11-29 or 2026-11-29T14:00"));
}
