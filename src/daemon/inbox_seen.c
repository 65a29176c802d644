#include "daemon/inbox_seen.h"

#include "base/log.h"
#include "base/units.h"

#include <string.h>

#define LOOKS_MS  60000
#define LOOKS_MAX 30

static bool may_look(struct inbox_seen *seen)
{
    int64_t now = units_monotonic_ns() / 1000000;

    if (now - seen->looks_ms > LOOKS_MS) {
        seen->looks_ms = now;
        seen->looks = 0;
    }
    return seen->looks++ < LOOKS_MAX;
}

static bool take_time(const struct event *event, void *user)
{
    *(int64_t *)user = event->ts;
    return false;
}

void inbox_seen_look(struct daemon *daemon, struct inbox_seen *seen, const struct flow *flow,
                     struct inbox_history *ret_history)
{
    struct project *project = projects_lock(daemon->projects, flow->request.project);
    char host[HOST_FORMAT_MAX], name[PROJECT_NAME_MAX];
    auto(error) struct error *err = NULL;
    struct inbox_history history = {0};

    *ret_history = history;
    if (!project)
        return;
    memcpy(name, project->r.name, sizeof(name));
    projects_unlock(daemon->projects);
    if (!may_look(seen))
        return;
    struct journal_query query = {.kind = "egress.open",
                                  .project = name,
                                  .subject = host_format(&flow->request.host, flow->request.port, host),
                                  .limit = 1};
    int rc = journal_select(daemon->journal, &query, take_time, &history.first_ns, &err);
    query.newest = true;
    if (rc == 0)
        rc = journal_select(daemon->journal, &query, take_time, &history.last_ns, &err);
    query = (struct journal_query){
        .kind = "egress.open", .not_project = name, .subject = query.subject, .limit = 1, .newest = true};
    if (rc == 0)
        rc = journal_select(daemon->journal, &query, take_time, &history.elsewhere_ns, &err);
    if (rc < 0) {
        log_warning("what is known of \"%s\" cannot be read: %s", host, err->message);
        return;
    }
    history.known = true;
    *ret_history = history;
}
