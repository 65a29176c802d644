#include "ui/model/git.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

#define SOON_NS (SECOND / 2) /* what changes brings several events */
#define BECAME  "landed as " /* before the branch, in the reason of a request that a landing has answered */

static void finish(struct git_row *row)
{
    char *strings[] = {row->raw_repo, row->raw_ref, row->raw_commit, row->repo,    row->ref,
                       row->kind,     row->name,    row->commit,     row->subject, row->folder,
                       row->state,    row->reason,  row->by};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
}

static void drop(struct git_row **list, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        finish(&(*list)[i]);
    free(steal(list));
    *count = 0;
}

void git_finish(struct git *git)
{
    drop(&git->list, &git->count);
    drop(&git->next, &git->next_count);
    free(git->failure);
    *git = (struct git){0};
}

const struct git_row *git_find(const struct git *git, uint64_t number)
{
    for (size_t i = 0; i < git->count; i++)
        if (git->list[i].number == number)
            return &git->list[i];
    return NULL;
}

bool git_waits(const struct git_row *row)
{
    return row->request &&
           (!strcmp(row->state, "waiting") || !strcmp(row->state, "held") || !strcmp(row->state, "frozen"));
}

char *git_state(const struct git_row *row)
{
    unsigned long long id = (unsigned long long)row->request;
    if (!id)
        return xstrdup("");
    if (git_waits(row))
        return xasprintf(_("WAITING #%llu"), id);
    if (!strcmp(row->state, "allowed") && !strncmp(row->reason, BECAME, strlen(BECAME)))
        return xasprintf(_("landed as %s"), row->reason + strlen(BECAME));
    if (!strcmp(row->state, "allowed"))
        return xasprintf(_("allowed by %s"), row->by);
    if (!strcmp(row->state, "denied"))
        return *row->reason ? xasprintf(_("rejected: %s"), row->reason)
                            : xasprintf(_("rejected by %s"), row->by);
    return xasprintf(_("#%llu is gone"), id);
}

/* ---- what comes in ---- */

static const char *raw(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static struct git_row *add(struct git *git, const json_t *json)
{
    if (git->next_count == GIT_ROWS_MAX)
        return NULL;
    git->next = xrealloc(git->next, git->next_count + 1, sizeof(*git->next));
    struct git_row *row = &git->next[git->next_count++];
    *row = (struct git_row){.raw_repo = xstrdup(raw(json, "repo")),
                            .raw_ref = xstrdup(raw(json, "ref")),
                            .raw_commit = xstrdup(raw(json, "commit")),
                            .repo = field_text(json, "repo"),
                            .ref = field_text(json, "ref"),
                            .kind = field_text(json, "kind"),
                            .name = field_text(json, "name"),
                            .commit = field_text(json, "commit"),
                            .subject = field_text(json, "subject"),
                            .folder = field_text(json, "folder"),
                            .state = xstrdup(""),
                            .reason = xstrdup(""),
                            .by = xstrdup(""),
                            .commits = field_number(json, "commits", -1),
                            .time_ns = field_number(json, "time_ns", 0)};
    return row;
}

static void set_push(struct git_row *row, const json_t *json)
{
    row->request = (uint64_t)field_number(json, "request", 0);
    row->state = (free(row->state), field_text(json, "state"));
    row->reason = (free(row->reason), field_text(json, "reason"));
    row->by = (free(row->by), field_text(json, "by"));
    row->class = request_tier(json);
}

/* A push belongs to the branch that it brought, as long as that is what it brought. The newest comes first.
 */
static void take_push(struct git *git, const json_t *json)
{
    bool tag = json_is_string(json_object_get(json, "tag"));
    const char *name = raw(json, tag ? "tag" : "branch");
    autofree char *ref = xasprintf("refs/guest/%s/%s", tag ? "tags" : "heads", name);
    for (size_t i = 0; i < git->next_count; i++) {
        struct git_row *row = &git->next[i];
        if (row->push || row->request || strcmp(row->raw_repo, raw(json, "repo")) != 0 ||
            strcmp(row->raw_ref, ref) != 0 || strcmp(row->raw_commit, raw(json, "commit")) != 0)
            continue;
        set_push(row, json);
        return;
    }
    struct git_row *row = add(git, json);
    if (!row)
        return;
    row->push = true;
    row->kind = (free(row->kind), xstrdup("push"));
    row->name = (free(row->name), field_text(json, tag ? "tag" : "branch"));
    row->time_ns = field_number(json, "changed_ns", 0);
    set_push(row, json);
}

/* ---- the order ---- */

static int place_of(const struct git_row *row)
{
    static const char *const kinds[] = {"branch", "unpushed", "uncommitted", "stash",
                                        "tag",    "other",    "push",        "lost"};
    if (git_waits(row))
        return -1;
    for (size_t i = 0; i < countof(kinds); i++)
        if (!strcmp(row->kind, kinds[i]))
            return (int)i;
    return countof(kinds);
}

static int compare(const void *a, const void *b)
{
    const struct git_row *one = a, *other = b;
    int order = place_of(one) - place_of(other);
    if (!order)
        order = (int)(other->commits > 0) - (int)(one->commits > 0);
    if (!order && one->time_ns != other->time_ns)
        order = one->time_ns < other->time_ns ? 1 : -1;
    return order ? order : strcmp(one->ref, other->ref);
}

/* What came takes the place of what was; a row that was there is the same one. */
static void settle(struct app *app)
{
    struct git *git = &app->git;
    for (size_t i = 0; i < git->next_count; i++) {
        struct git_row *row = &git->next[i];
        for (size_t j = 0; j < git->count && !row->number; j++)
            if (!strcmp(row->raw_ref, git->list[j].raw_ref) && !strcmp(row->raw_repo, git->list[j].raw_repo))
                row->number = git->list[j].number;
        if (!row->number)
            row->number = ++git->last;
    }
    if (git->next_count)
        qsort(git->next, git->next_count, sizeof(*git->next), compare);
    drop(&git->list, &git->count);
    git->list = steal(&git->next);
    git->count = git->next_count;
    git->next_count = 0;
    git->known = true;
    app_news(app, VIEW_GIT);
}

/* ---- asking ---- */

enum { REFS, PUSHES, LOST };
static void ask(struct app *app, int what, struct effects *effects);

static void take(struct app *app, struct call *call, const struct message *message, struct effects *effects)
{
    struct git *git = &app->git;
    const struct project *project = app_project(app);
    int what = (int)call->number;
    if (message->type == MESSAGE_LINE && !json_object_get(message->body, "phase")) {
        if (what == PUSHES)
            take_push(git, message->body);
        else if (what == REFS || (project && !strcmp(raw(message->body, "project"), project->raw_name)))
            add(git, message->body);
    }
    if (message->type == MESSAGE_LINE)
        return;
    git->calls[what] = 0;
    free(steal(&git->failure));
    if (message->error) {
        git->failure = xstrdup(message->error->message);
        drop(&git->next, &git->next_count);
        app_news(app, VIEW_GIT);
    } else if (what < LOST) {
        ask(app, what + 1, effects);
    } else {
        settle(app);
    }
}

/* One after the other: a push is joined with its branch. */
static void ask(struct app *app, int what, struct effects *effects)
{
    static const char *const rests[] = {"/git", "/git/pushes"};
    const struct project *project = app_project(app);
    if (!project || !app->up)
        return;
    autofree char *path = what == LOST ? xstrdup("/v1/git/lost") : project_api_path(project, rests[what]);
    struct call *call = app_call(app, EFFECT_LINES, "GET", path, NULL, take, effects);
    call->number = (uint64_t)what;
    app->git.calls[what] = call->id;
}

static void cancel(struct app *app, struct effects *effects)
{
    struct git *git = &app->git;
    for (size_t i = 0; i < countof(git->calls); i++) {
        app_cancel(app, git->calls[i], effects);
        git->calls[i] = 0;
    }
    drop(&git->next, &git->next_count);
}

void git_ask(struct app *app, struct effects *effects)
{
    struct git *git = &app->git;
    const struct project *project = app_project(app);
    git->due_ns = 0;
    cancel(app, effects);
    if (!project || git->project != project->number) {
        drop(&git->list, &git->count);
        git->known = false;
        list_restart(&app->lists[VIEW_GIT]);
    }
    git->project = project ? project->number : 0;
    ask(app, REFS, effects);
}

void git_news(struct app *app)
{
    if (app->git.shown && !app->git.due_ns)
        app->git.due_ns = app->now_ns + SOON_NS;
}

int64_t git_tick(struct app *app, struct effects *effects)
{
    struct git *git = &app->git;
    if (git->due_ns && git->due_ns <= app->now_ns)
        git_ask(app, effects);
    return git->due_ns;
}

void git_show(struct app *app, struct effects *effects)
{
    app->git.shown = true;
    git_ask(app, effects);
}

void git_hide(struct app *app, struct effects *effects)
{
    app->git.shown = false;
    app->git.due_ns = 0;
    cancel(app, effects);
}

/* ---- a fetch now ---- */

static void take_fetched(struct app *app, struct call *call, const struct message *message,
                         struct effects *effects)
{
    if (message->type == MESSAGE_LINE) {
        autofree char *text = field_text(message->body, "text");
        act_log_say(app, call->entry, text);
        return;
    }
    size_t changes = 0, skips = 0, i;
    const json_t *repo;
    json_array_foreach(json_object_get(message->body, "repos"), i, repo)
    {
        changes += json_array_size(json_object_get(repo, "changes"));
        skips += json_array_size(json_object_get(repo, "skips"));
    }
    autofree char *words = !changes
                               ? xstrdup(_("nothing new"))
                               : xasprintf(ngettext("%zu ref is new", "%zu refs are new", changes), changes);
    act_log_end(app, call->entry, message->error, words);
    if (message->error)
        app_say_error(app, message->error);
    else if (skips)
        app_say(app, STYLE_WARN,
                ngettext("%zu ref was not taken; hutch git fetch says why",
                         "%zu refs were not taken; hutch git fetch says why", skips),
                skips);
    if (app->git.shown)
        git_ask(app, effects);
}

void git_fetch(struct app *app, struct effects *effects)
{
    const struct project *project = app_project(app);
    if (!project || !app->up) {
        app_say(app, STYLE_WARN, "%s",
                project ? _("hutchd is away; it works again when it is back") : _("no project is chosen"));
        return;
    }
    autofree char *path = project_api_path(project, "/git/fetch");
    autofree char *twin = xasprintf("hutch git fetch %s", project->name);
    struct call *call = app_call(app, EFFECT_LINES, "POST", path, NULL, take_fetched, effects);
    call->entry = act_log(app, ENTRY_RUNS, twin, "");
}
