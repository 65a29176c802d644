#include "ui/model/review.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

#define DIFF_AHEAD_ROWS 50 /* below the last one that is shown */

static void drop_rows(struct review *review)
{
    for (size_t i = 0; i < review->row_count; i++)
        free(review->rows[i].text);
    for (size_t i = 0; i < review->fact_count; i++) {
        free(review->facts[i].label);
        free(review->facts[i].text);
    }
    free(steal(&review->rows));
    free(steal(&review->facts));
    review->row_count = review->fact_count = 0;
}

static void drop_commits(struct review *review)
{
    for (size_t i = 0; i < review->commit_count; i++) {
        struct review_commit *commit = &review->commits[i];
        char *strings[] = {commit->raw_id, commit->id,   commit->subject,  commit->body,
                           commit->author, commit->mail, commit->committer};
        for (size_t j = 0; j < countof(strings); j++)
            free(strings[j]);
    }
    free(steal(&review->commits));
    review->commit_count = 0;
}

static void drop_kept(struct review *review)
{
    for (size_t i = 0; i < review->kept_count; i++) {
        free(review->kept[i].path);
        free(review->kept[i].class);
        free(review->kept[i].change);
        free(review->kept[i].target);
    }
    free(steal(&review->kept));
    review->kept_count = 0;
}

void review_finish(struct review *review)
{
    char *strings[] = {review->raw_repo, review->raw_ref, review->raw_branch, review->project_name,
                       review->repo,     review->name,    review->as,         review->tip,
                       review->failure,  review->state,   review->by,         review->reason,
                       review->newer};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
    json_decref(review->summary);
    json_decref(review->asked);
    drop_commits(review);
    drop_kept(review);
    drop_rows(review);
    diff_finish(&review->all);
    diff_finish(&review->one);
    bool words_off = review->words_off;
    int split = review->split;
    *review = (struct review){.words_off = words_off, .split = split};
}

bool review_waits(const struct review *review)
{
    return review->request && review->state &&
           (!strcmp(review->state, "waiting") || !strcmp(review->state, "held") ||
            !strcmp(review->state, "frozen"));
}

void review_news(struct app *app)
{
    drop_rows(&app->review);
    review_build(app);
    app_news(app, VIEW_PUSH);
}

/* ---- the request ---- */

static void take_request(struct app *app, struct call *call, const struct message *message,
                         struct effects *effects)
{
    struct review *review = &app->review;
    const json_t *fields = json_object_get(message->body, "fields");
    (void)call, (void)effects;
    review->request_call = 0;
    if (message->error) {
        if (message->error->code != ERROR_NOT_FOUND && app->up)
            app_say_error(app, message->error);
        return;
    }
    bool waited = review_waits(review);
    json_decref(review->asked);
    review->asked = json_deep_copy(message->body);
    review->state = (free(review->state), field_text(message->body, "state"));
    review->by = (free(review->by), field_text(message->body, "by"));
    review->reason = (free(review->reason), field_text(message->body, "reason"));
    review->class = request_tier(message->body);
    const char *new = json_string_value(json_object_get(fields, "new"));
    const char *branch =
        json_string_value(json_object_get(fields, json_object_get(fields, "tag") ? "tag" : "branch"));
    if (!review->raw_branch && branch)
        review->raw_branch = xstrdup(branch);
    bool other = new && review->tip &&strcmp(new, review->tip) != 0 && review_waits(review);
    if (other && !review->newer)
        app_say(app, STYLE_BAD, _("#%llu was pushed again: what is shown here is not what waits"),
                (unsigned long long)review->request);
    review->newer = (free(review->newer), other ? xstrdup(new) : NULL);
    if (waited && !review_waits(review) && !review->sent && !review->mine)
        app_say(app, STYLE_WARN,
                !strcmp(review->state, "allowed")  ? _("#%llu was allowed elsewhere, by %s")
                : !strcmp(review->state, "denied") ? _("#%llu was denied elsewhere, by %s")
                                                   : _("#%llu is gone%.0s"),
                (unsigned long long)review->request, review->by);
    review_news(app);
}

static void ask_request(struct app *app, struct effects *effects)
{
    struct review *review = &app->review;
    if (!review->request || !app->up || review->request_call)
        return;
    autofree char *path = xasprintf("/v1/requests/%llu", (unsigned long long)review->request);
    review->request_call = app_call(app, EFFECT_CALL, "GET", path, NULL, take_request, effects)->id;
}

static bool is_open(const struct app *app)
{
    for (int i = 0; i < app->overlay_count; i++)
        if (app->overlays[i] == VIEW_PUSH)
            return true;
    return false;
}

void review_check(struct app *app, struct effects *effects)
{
    if (is_open(app) && app->review.request && (!app->review.state || review_waits(&app->review)))
        ask_request(app, effects);
}

/* ---- numbers and commits ---- */

static char *path_of(const struct app *app, const char *route, const char *name)
{
    const struct review *review = &app->review;
    const struct project *project = projects_find(&app->projects, review->project);
    if (!project)
        return NULL;
    autofree char *query = field_path("?repo=%s&branch=%s", review->raw_repo, name);
    autofree char *rest = xasprintf("%s%s", route, query);
    return project_api_path(project, rest);
}

static void take_commit(struct review *review, const json_t *json)
{
    const char *id = json_string_value(json_object_get(json, "id"));
    const char *body = json_string_value(json_object_get(json, "body"));
    if (!id) {
        review->commits_more = json_is_true(json_object_get(json, "more"));
        return;
    }
    review->commits = xrealloc(review->commits, review->commit_count + 1, sizeof(*review->commits));
    review->commits[review->commit_count++] = (struct review_commit){
        .raw_id = xstrdup(id),
        .id = field_text(json, "id"),
        .subject = field_text(json, "subject"),
        .body = xstrdup(body ? body : ""), /* made safe line by line, where it is shown */
        .author = field_text(json, "author"),
        .mail = field_text(json, "mail"),
        .committer = field_text(json, "committer"),
        .time_ns = field_ns(field_number(json, "time", 0) * 1000)};
}

static void take_log(struct app *app, struct call *call, const struct message *message,
                     struct effects *effects)
{
    (void)call, (void)effects;
    if (message->type == MESSAGE_LINE) {
        take_commit(&app->review, message->body);
        return;
    }
    app->review.log_call = 0;
    app->review.commits_known = true;
    if (message->error)
        app->review.failure = (free(app->review.failure), xstrdup(message->error->message));
    review_news(app);
}

static void take_kept(struct review *review)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(review->summary, "persistence"), i, one)
    {
        review->kept = xrealloc(review->kept, review->kept_count + 1, sizeof(*review->kept));
        review->kept[review->kept_count++] =
            (struct review_kept){field_text(one, "path"), field_text(one, "class"), field_text(one, "change"),
                                 field_text(one, "target")};
    }
}

/* What it is is known: commits and files of just that. */
static void take_summary_end(struct app *app, struct effects *effects)
{
    struct review *review = &app->review;
    const char *tip = json_string_value(json_object_get(review->summary, "tip"));
    if (!tip)
        return;
    review->tip = xstrdup(tip);
    take_kept(review);
    autofree char *path = path_of(app, "/git/log", tip);
    if (path)
        review->log_call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_log, effects)->id;
    diff_open(app, &review->all, review->project, review->raw_repo, tip, false, effects);
}

static void take_summary(struct app *app, struct call *call, const struct message *message,
                         struct effects *effects)
{
    struct review *review = &app->review;
    (void)call;
    if (message->type == MESSAGE_LINE) {
        if (!review->summary && json_object_get(message->body, "tip"))
            review->summary = json_deep_copy(message->body);
        return;
    }
    review->summary_call = 0;
    if (message->error)
        review->failure = (free(review->failure), xstrdup(message->error->message));
    else
        take_summary_end(app, effects);
    review_news(app);
}

static void ask_all(struct app *app, struct effects *effects)
{
    struct review *review = &app->review;
    autofree char *path = path_of(app, "/git/summary", review->raw_ref);
    if (!app->up || !path)
        return;
    review->summary_call = app_call(app, EFFECT_LINES, "GET", path, NULL, take_summary, effects)->id;
    ask_request(app, effects);
}

static void close_all(struct app *app, struct effects *effects)
{
    struct review *review = &app->review;
    uint64_t calls[] = {review->summary_call, review->log_call, review->request_call};
    for (size_t i = 0; i < countof(calls); i++)
        app_cancel(app, calls[i], effects);
    diff_close(app, &review->all, effects);
    diff_close(app, &review->one, effects);
    review_finish(review);
}

void review_open(struct app *app, const struct review_target *target, struct effects *effects)
{
    struct review *review = &app->review;
    const struct project *project = projects_find(&app->projects, target->project);
    struct review_target own = *target;
    autofree char *repo = xstrdup(target->repo), *ref = xstrdup(target->ref),
                  *branch = xstrdup(target->branch);
    close_all(app, effects);
    review->project = own.project;
    review->request = own.request;
    review->raw_repo = steal(&repo);
    review->raw_ref = steal(&ref);
    review->raw_branch = steal(&branch);
    review->project_name = xstrdup(project ? project->name : "");
    review->repo = text_safe(review->raw_repo);
    list_restart(&app->lists[VIEW_PUSH]);
    review_news(app);
    ask_all(app, effects);
    app_push(app, VIEW_PUSH, effects);
}

void review_open_prompt(struct app *app, struct effects *effects)
{
    const struct prompt *prompt = &app->inbox.prompt;
    const json_t *fields = json_object_get(prompt->json, "fields");
    const struct project *project = projects_named(&app->projects, prompt->raw_project);
    const char *repo = json_string_value(json_object_get(fields, "repo"));
    const char *branch =
        json_string_value(json_object_get(fields, json_object_get(fields, "tag") ? "tag" : "branch"));
    autofree char *ref = xasprintf("refs/pushes/%llu", (unsigned long long)prompt->id);
    if (!project || !repo) {
        app_say(app, STYLE_WARN, "%s", _("it is gone"));
        return;
    }
    autofree char *own_repo = xstrdup(repo), *own_branch = xstrdup(branch);
    struct review_target target = {project->number, prompt->id, own_repo, ref, own_branch};
    if (app->overlay_count && app_view(app) == VIEW_REQUEST)
        app_pop(app, effects); /* it is answered here now */
    review_open(app, &target, effects);
}

void review_again(struct app *app, struct effects *effects)
{
    struct review *review = &app->review;
    struct review_target target = {review->project, review->request, review->raw_repo, review->raw_ref,
                                   review->raw_branch};
    while (app->overlay_count && app_view(app) == VIEW_DIFF)
        app_pop(app, effects);
    review_open(app, &target, effects);
}

/* ---- the difference ---- */

bool review_splits(const struct app *app)
{
    return app->review.split ? app->review.split > 0 : app->columns >= REVIEW_SPLIT;
}

void review_split(struct app *app, bool split)
{
    struct diff *diff = app->review.shown;
    struct list *list = &app->lists[VIEW_DIFF];
    size_t file, line;
    if (!diff || diff->split == split)
        return;
    bool found = diff_find(diff, list->cursor, &file, &line);
    diff->split = split;
    diff_layout(diff);
    if (found && line != SIZE_MAX)
        list->cursor = diff_line_identity(diff, file, line);
    list_restate(list);
    app->changed = true;
}

int64_t review_tick(struct app *app, struct effects *effects)
{
    struct diff *shown = app->review.shown;
    const struct list *list = &app->lists[VIEW_DIFF];
    if (!shown || !app->overlay_count || app_view(app) != VIEW_DIFF)
        return 0;
    review_split(app, review_splits(app));
    diff_want(app, shown, list->top, (size_t)(list->height > 0 ? list->height : 1) + DIFF_AHEAD_ROWS,
              effects);
    return 0;
}

static void show(struct app *app, struct diff *diff, struct effects *effects)
{
    app->review.shown = diff;
    diff->split = review_splits(app);
    diff_layout(diff);
    list_restart(&app->lists[VIEW_DIFF]);
    app_push(app, VIEW_DIFF, effects);
}

void review_open_file(struct app *app, size_t file, struct effects *effects)
{
    struct diff *all = &app->review.all;
    struct list *list = &app->lists[VIEW_DIFF];
    show(app, all, effects);
    list_settle(app, list);
    if (list_select(app, list, diff_head(file)))
        list->top = list->at; /* from its head on */
}

/* The message of a commit, before what it changes. */
static void add_message(struct diff *diff, const struct review_commit *commit)
{
    struct text body;
    char date[24];
    field_date(commit->time_ns, date);
    autofree char *head = xasprintf(_("commit %s"), commit->id);
    autofree char *author = xasprintf(_("by %s <%s>, %s"), commit->author, commit->mail, date);
    diff_add_words(diff, STYLE_TITLE, head);
    diff_add_words(diff, STYLE_NORMAL, author);
    if (strcmp(commit->author, commit->committer) != 0) {
        autofree char *committer = xasprintf(_("committed by %s"), commit->committer);
        diff_add_words(diff, STYLE_DIM, committer);
    }
    diff_add_words(diff, STYLE_NORMAL, "");
    diff_add_words(diff, STYLE_HEADER, commit->subject);
    text_init(&body, commit->body, strlen(commit->body), 0, TEXT_KEEP_NEWLINES);
    char *rest = body.bytes;
    for (char *line = strsep(&rest, "\n"); line && *body.bytes; line = strsep(&rest, "\n")) {
        autofree char *safe = text_safe(line);
        diff_add_words(diff, STYLE_NORMAL, safe);
    }
    text_finish(&body);
    diff_add_words(diff, STYLE_NORMAL, "");
}

void review_open_commit(struct app *app, size_t number, struct effects *effects)
{
    struct review *review = &app->review;
    if (number >= review->commit_count)
        return;
    const struct review_commit *commit = &review->commits[number];
    diff_open(app, &review->one, review->project, review->raw_repo, commit->raw_id, true, effects);
    add_message(&review->one, commit);
    show(app, &review->one, effects);
}
