/* Routes of what a project's disk was: two points of it compared. Files out of an old point are among the
 * routes of files (at=@12). */
#include "base/alloc.h"
#include "daemon/diff.h"
#include "daemon/server.h"

static void compare(const struct request *request, json_t *body)
{
    autofree char *from = NULL, *to = NULL, *path = NULL;
    char id[PROJECT_ID_MAX];

    (void)body;
    if (!request_project(request, id) || !request_query(request, "from", &from) ||
        !request_query(request, "to", &to) || !request_query(request, "path", &path))
        return;
    const struct diff_request diff = {.id = id,
                                      .mode = path ? DIFF_TEXT : DIFF_CHANGES,
                                      .from = from,
                                      .to = to,
                                      .path = path,
                                      .type = "application/x-ndjson"};
    diff_answer(request->daemon, request->stream, &diff);
}

const struct route routes_diff[] = {
    {"GET", "/v1/projects/?/diff", compare, false},
    {0},
};
