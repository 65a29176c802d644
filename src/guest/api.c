#include "guest/api.h"

#include "base/alloc.h"

#include <string.h>

static const struct route routes[] = {
#define X(method, pattern, body, handler) {method, pattern, body, handler},
    API_ROUTES(X)
#undef X
};

const struct route *api_find(const char *method, const char *target, struct error **err)
{
    bool path_known = false;

    for (size_t i = 0; i < countof(routes); i++) {
        if (!query_matches(routes[i].pattern, target))
            continue;
        path_known = true;
        if (!strcmp(routes[i].method, method))
            return &routes[i];
    }
    if (path_known)
        error_set(err, ERROR_USAGE, "'%.16s' is not a method of '%.200s'", method, target);
    else
        error_set(err, ERROR_NOT_FOUND, "hutch-guest knows no '%.200s'", target);
    return NULL;
}
