/* What is done to what was read: landing it or what is marked of it, rejecting it, the pager. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

#define NAMED_PATHS 20 /* of marked files, in a command line; hutch land takes the same list */

/* ---- words ---- */

/* A word of a command line. The caller's to free. */
static char *quoted(const char *word)
{
    struct buf out;
    bool plain = *word != 0;
    for (const char *at = word; *at; at++)
        plain = plain && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                          (*at >= '0' && *at <= '9') || strchr("-_./:,@", *at));
    if (plain)
        return xstrdup(word);
    buf_init(&out, 0);
    buf_printf(&out, NULL, "'");
    for (; *word; word++)
        buf_printf(&out, NULL, *word == '\'' ? "'\\''" : "%c", *word);
    buf_printf(&out, NULL, "'");
    return buf_take_string(&out);
}

static const struct project *project_of(const struct app *app)
{
    return projects_find(&app->projects, app->review.project);
}

/* How hutch's verbs call it: a number of a push, or a branch. The caller's to free. */
static char *word_of(const struct review *review)
{
    if (!strncmp(review->raw_ref, "refs/pushes/", 12))
        return xasprintf("'#%s'", review->raw_ref + 12);
    autofree char *safe = text_safe(review->raw_ref);
    return quoted(safe);
}

struct marks {
    size_t files, hunks;
};
static struct marks count_marks(const struct review *review)
{
    struct marks marks = {0};
    for (size_t i = 0; i < review->all.count; i++) {
        marks.files += review->all.files[i].whole;
        marks.hunks += review->all.files[i].picks;
    }
    return marks;
}

static bool any_marked(const struct review *review)
{
    struct marks marks = count_marks(review);
    return marks.files || marks.hunks;
}

/* " --files a.c:1,3 --files b.c". The caller's to free. */
static char *files_words(const struct review *review)
{
    struct buf out;
    size_t named = 0;
    buf_init(&out, 0);
    for (size_t i = 0; i < review->all.count; i++) {
        const struct diff_file *file = &review->all.files[i];
        if (diff_mark(file) == ' ')
            continue;
        if (named++ == NAMED_PATHS) {
            buf_printf(&out, NULL, " ...");
            break;
        }
        struct buf spec;
        buf_init(&spec, 0);
        buf_printf(&spec, NULL, "%s", file->path);
        for (size_t h = 0, n = 0; !file->whole && h < file->hunks; h++)
            if (file->picked[h])
                buf_printf(&spec, NULL, "%s%zu", n++ ? "," : ":", h + 1);
        autofree char *text = buf_take_string(&spec);
        autofree char *word = quoted(text);
        buf_printf(&out, NULL, " --files %s", word);
    }
    return buf_take_string(&out);
}

char *review_label(const struct app *app)
{
    const struct review *review = &app->review;
    if (!review->raw_ref)
        return NULL;
    return review->tip ? xasprintf("%s %.12s", review->name, review->tip) : xstrdup(review->name);
}

char *review_twin(const struct app *app, enum action action)
{
    const struct review *review = &app->review;
    const struct project *project = project_of(app);
    if (!project || !review->raw_ref)
        return NULL;
    autofree char *name = word_of(review), *as = quoted(review->as), *files = files_words(review);
    autofree char *own = strchr(review->raw_repo, '\'') ? xstrdup("...") : quoted(review->repo);
    if (action == ACTION_LAND || action == ACTION_LAND_FORWARD)
        return xasprintf("hutch land %s %s --repo %s --as %s%s%s --yes", project->name, name, own, as, files,
                         action == ACTION_LAND_FORWARD ? " --fast-forward" : "");
    if (action == ACTION_REJECT)
        return xasprintf("hutch deny %llu", (unsigned long long)review->request);
    if (action == ACTION_PAGER)
        return xasprintf("hutch git diff %s %s --repo %s", project->name, name, own);
    return NULL;
}

/* "2 files and 1 hunk". The caller's to free. */
static char *marks_words(const struct review *review)
{
    struct marks marks = count_marks(review);
    autofree char *files =
        marks.files ? xasprintf(ngettext("%zu file", "%zu files", marks.files), marks.files) : NULL;
    autofree char *hunks =
        marks.hunks ? xasprintf(ngettext("%zu hunk", "%zu hunks", marks.hunks), marks.hunks) : NULL;
    return files && hunks ? xasprintf(_("%s and %s"), files, hunks)
                          : xstrdup(files   ? files
                                    : hunks ? hunks
                                            : "");
}

/* What runs here of that which would land; NULL: nothing. The caller's to free. */
static char *warning_of(const struct review *review)
{
    struct buf out;
    size_t found = 0;
    bool marked = any_marked(review);
    buf_init(&out, 0);
    for (size_t i = 0; i < review->all.count; i++) {
        const struct diff_file *file = &review->all.files[i];
        if (!file->raw_path || (marked && diff_mark(file) == ' ') || (!*file->class && !file->outside))
            continue;
        if (found++ < REVIEW_WARNED)
            buf_printf(&out, NULL, "%s%s", found > 1 ? ", " : "", file->path);
    }
    autofree char *names = buf_take_string(&out);
    if (!found)
        return NULL;
    return found > REVIEW_WARNED
               ? xasprintf(_("tools on this computer run or obey %zu files of it: %s ..."), found, names)
               : xasprintf(_("tools on this computer run or obey: %s"), names);
}

void review_words(const struct app *app, enum action action, struct act_words *out)
{
    const struct review *review = &app->review;
    autofree char *as = text_safe(review->as), *marks = marks_words(review);
    if (action == ACTION_LAND && *marks)
        out->question =
            xasprintf(_("land %s of %s as one new commit on the branch %s?"), marks, review->name, as);
    else if (action == ACTION_LAND)
        out->question = xasprintf(_("land %s as the branch %s of your repository?"), review->name, as);
    else if (action == ACTION_LAND_FORWARD)
        out->question = xasprintf(_("%s is there already: move it forward, if nothing of it is lost?"), as);
    if (action != ACTION_LAND && action != ACTION_LAND_FORWARD)
        return;
    autofree char *runs = warning_of(review);
    const char *forced = json_is_true(json_object_get(review->summary, "forced"))
                             ? _("it takes back commits that were pushed before")
                             : NULL;
    if (runs && forced)
        out->warning = xasprintf("%s; %s", forced, runs);
    else if (runs || forced)
        out->warning = xstrdup(runs ? runs : forced);
}

const char *review_able(const struct app *app, enum action action)
{
    const struct review *review = &app->review;
    if (action == ACTION_SIDE_BY_SIDE || action == ACTION_WORD_DIFF)
        return NULL;
    if (!app->up)
        return _("hutchd is away; it works again when it is back");
    if (!review->raw_ref || !project_of(app))
        return _("it is gone");
    if (action == ACTION_REVIEW_AGAIN)
        return NULL;
    if (!review->tip)
        return _("it has not been read yet");
    if (action == ACTION_PAGER || action == ACTION_PICK)
        return NULL;
    if (review->sent)
        return _("the answer is on its way");
    if (action == ACTION_REJECT)
        return review_waits(review) ? NULL : _("no push of it waits for an answer");
    if (review->newer)
        return _("it was pushed again: read that first (f)");
    if (!review->all.known)
        return _("its files are not here yet");
    return NULL;
}

const char *review_says(const struct app *app, enum action action)
{
    const struct review *review = &app->review;
    if (action == ACTION_LAND && any_marked(review))
        return _("land marked");
    if (action == ACTION_SIDE_BY_SIDE)
        return review->shown && review->shown->split ? _("unified") : NULL;
    return NULL;
}

/* ---- landing ---- */

static json_t *files_json(const struct review *review)
{
    json_t *files = json_array();
    for (size_t i = 0; i < review->all.count; i++) {
        const struct diff_file *file = &review->all.files[i];
        if (diff_mark(file) == ' ')
            continue;
        json_t *one = json_pack("{s:s}", "path", file->raw_path);
        json_t *hunks = file->whole ? NULL : json_array();
        for (size_t h = 0; hunks && h < file->hunks; h++)
            if (file->picked[h])
                json_array_append_new(hunks, json_integer((json_int_t)h));
        if (hunks)
            json_object_set_new(one, "hunks", hunks);
        json_array_append_new(files, one);
    }
    return files;
}

static void take_landed(struct app *app, struct call *call, const struct message *message,
                        struct effects *effects)
{
    struct review *review = &app->review;
    bool here = call->data && review->tip && !strcmp(call->data, review->tip);
    bool whole = json_is_true(json_object_get(message->body, "whole"));
    if (message->type == MESSAGE_LINE) {
        autofree char *text = field_text(message->body, "text");
        act_log_say(app, call->entry, text);
        return;
    }
    autofree char *branch = field_text(message->body, "branch");
    autofree char *repository = field_text(message->body, "repository");
    act_log_end(app, call->entry, message->error, branch);
    if (here) {
        review->sent = false;
        review->mine = review->mine || whole;
    }
    inbox_ask(app, effects);
    git_news(app);
    if (message->error && message->error->code == ERROR_EXISTS && here && call->action == ACTION_LAND &&
        app->overlay_count && (app_view(app) == VIEW_PUSH || app_view(app) == VIEW_DIFF)) {
        act_begin(app, app_view(app), app_cursor(app, app_view(app)), ACTION_LAND_FORWARD, false, effects);
        return;
    }
    if (message->error) {
        app_say_error(app, message->error);
    } else if (whole || !here || !review_waits(review)) {
        app_say(app, STYLE_GOOD, _("landed: branch %s in %s"), branch, repository);
    } else {
        app_say(app, STYLE_GOOD, _("landed in part: branch %s in %s; the push still waits"), branch,
                repository);
    }
    review_check(app, effects);
}

static void land(struct app *app, enum action action, struct effects *effects)
{
    struct review *review = &app->review;
    const struct project *project = project_of(app);
    autofree char *path = project_api_path(project, "/git/land");
    autofree char *twin = review_twin(app, action);
    json_t *body =
        json_pack("{s:s, s:s, s:s, s:s, s:b}", "repo", review->raw_repo, "branch", review->raw_ref, "commit",
                  review->tip, "as", review->as, "fast_forward", action == ACTION_LAND_FORWARD);
    if (!body) {
        app_say(app, STYLE_WARN, "%s",
                _("its name cannot be that of a branch: hutch land --as gives it another"));
        return;
    }
    if (any_marked(review))
        json_object_set_new(body, "files", files_json(review));
    struct call *call = app_call(app, EFFECT_LINES, "POST", path, body, take_landed, effects);
    call->action = action;
    call->data = xstrdup(review->tip);
    call->entry = act_log(app, ENTRY_RUNS, twin, "");
    review->sent = true;
}

/* ---- rejecting ---- */

static void take_rejected(struct app *app, struct call *call, const struct message *message,
                          struct effects *effects)
{
    struct review *review = &app->review;
    act_log_end(app, call->entry, message->error, NULL);
    inbox_ask(app, effects);
    git_news(app);
    if (message->error)
        app_say_error(app, message->error);
    else
        app_say(app, STYLE_GOOD, _("#%llu is rejected; the agent is told why"),
                (unsigned long long)call->number);
    if (call->number == review->request) {
        review->sent = false;
        review->mine = !message->error;
        review_check(app, effects);
    }
}

void review_typed(struct app *app, const char *text, struct effects *effects)
{
    struct review *review = &app->review;
    if (!*text) {
        app->input_error =
            (free(app->input_error), xstrdup(_("say why: the agent gets it; Esc rejects nothing")));
        return;
    }
    app->input_use = INPUT_NONE;
    const char *why = review_able(app, ACTION_REJECT);
    const char *nonce = json_string_value(json_object_get(review->asked, "nonce"));
    const char *digest = json_string_value(json_object_get(review->asked, "digest"));
    if (why || !nonce || !digest) {
        app_say(app, STYLE_WARN, _("nothing was done: %s"), why ? why : _("it is gone"));
        return;
    }
    autofree char *path = xasprintf("/v1/requests/%llu/answer", (unsigned long long)review->request);
    autofree char *word = quoted(text), *twin = review_twin(app, ACTION_REJECT);
    autofree char *line = xasprintf("%s -m %s", twin ? twin : "hutch deny", word);
    json_t *body = json_pack("{s:s, s:s, s:s, s:s}", "verdict", "deny", "reason", text, "nonce", nonce,
                             "digest", digest);
    struct call *call = app_call(app, EFFECT_CALL, "POST", path, body, take_rejected, effects);
    call->number = review->request;
    call->entry = act_log(app, ENTRY_RUNS, line, "");
    review->sent = true;
}

/* ---- the pager ---- */

static void take_paged(struct app *app, struct call *call, const struct message *message,
                       struct effects *effects)
{
    (void)effects;
    act_log_end(app, call->entry, message->error, NULL);
    if (message->error)
        app_say_error(app, message->error);
}

static void page(struct app *app, struct effects *effects)
{
    const struct review *review = &app->review;
    const struct project *project = project_of(app);
    bool one = app->overlay_count && app_view(app) == VIEW_DIFF && review->shown == &review->one;
    autofree char *twin = review_twin(app, ACTION_PAGER);
    struct call *call = app_local(app, EFFECT_PAGE, "", take_paged, effects);
    /* the commit that was read, whatever its name is of by now */
    effects->last->body = json_pack("[s, s, s, s, s, s]", "git", "diff", project->raw_name,
                                    one ? review->one.raw_name : review->tip, "--repo", review->raw_repo);
    call->entry = act_log(app, ENTRY_RUNS, twin, "");
}

/* ---- marks and looks ---- */

static void pick_file(struct app *app, size_t file)
{
    diff_mark_file(&app->review.all.files[file]);
}

/* Of a hunk: its line; the head of a file: all of it. */
static bool pick_line(struct app *app)
{
    struct review *review = &app->review;
    size_t file, line;
    if (review->shown != &review->all || !diff_find(&review->all, app_cursor(app, VIEW_DIFF), &file, &line))
        return false;
    struct diff_file *of = &review->all.files[file];
    if (line == SIZE_MAX || !of->hunks || of->old_mode == NULL || !*of->old_mode || !*of->new_mode)
        pick_file(app, file); /* what is new or goes away has no parts */
    else
        diff_mark_hunk(of, of->lines[line].hunk);
    return true;
}

static bool pick_row(struct app *app)
{
    struct review *review = &app->review;
    const struct list *list = &app->lists[VIEW_PUSH];
    if (!list->count || list->rows[list->at].position >= review->row_count)
        return false;
    const struct review_row *row = &review->rows[list->rows[list->at].position];
    if (row->part == REVIEW_FILE)
        pick_file(app, row->index);
    for (size_t i = 0; row->part == REVIEW_KEPT && i < review->all.listed; i++)
        if (!strcmp(review->all.files[i].path, review->kept[row->index].path)) {
            pick_file(app, i);
            return true;
        }
    return row->part == REVIEW_FILE;
}

static void pick(struct app *app)
{
    bool diff = app_view(app) == VIEW_DIFF;
    if (diff ? !pick_line(app) : !pick_row(app)) {
        app_say(app, STYLE_WARN, "%s", _("files and hunks are marked, and land alone; this is neither"));
        return;
    }
    autofree char *marks = marks_words(&app->review);
    if (*marks)
        app_say(app, STYLE_NORMAL, _("marked: %s; they land alone, as one commit"), marks);
    else
        app_say(app, STYLE_NORMAL, "%s", _("nothing is marked: all of it lands"));
    if (!diff)
        list_move(app, &app->lists[VIEW_PUSH], 1);
    app->changed = true;
}

static void go(struct app *app, bool forward, bool files)
{
    struct list *list = &app->lists[VIEW_DIFF];
    if (!app->review.shown || app_view(app) != VIEW_DIFF || !list->count)
        return;
    size_t next = diff_next(app->review.shown, list->rows[list->at].position, forward, files);
    if (next == SIZE_MAX || !list_select(app, list, diff_identity(app->review.shown, next)))
        app_say(app, STYLE_NORMAL, "%s", forward ? _("this is the last one") : _("this is the first one"));
    else if (list->at >= 2)
        list->top = list->at - (files ? 0 : 2); /* what follows it is seen */
    app->changed = true;
}

static void turn(struct app *app)
{
    bool split = review_splits(app);
    app->review.split = split ? -1 : 1;
    review_split(app, !split);
    app->changed = true;
}

bool review_act(struct app *app, enum action action, struct effects *effects)
{
    switch ((int)action) {
    case ACTION_LAND:
    case ACTION_LAND_FORWARD:
        land(app, action, effects);
        return true;
    case ACTION_REJECT:
        app_type(app, INPUT_REJECT, "");
        return true;
    case ACTION_PAGER:
        page(app, effects);
        return true;
    case ACTION_PICK:
        pick(app);
        return true;
    case ACTION_SIDE_BY_SIDE:
        turn(app);
        return true;
    case ACTION_WORD_DIFF:
        app->review.words_off = !app->review.words_off;
        app_say(app, STYLE_NORMAL, "%s",
                app->review.words_off ? _("lines that changed are shown whole")
                                      : _("words that changed stand out"));
        return true;
    case ACTION_REVIEW_AGAIN:
        review_again(app, effects);
        return true;
    case ACTION_NEXT_HUNK:
    case ACTION_PREVIOUS_HUNK:
        go(app, action == ACTION_NEXT_HUNK, false);
        return true;
    case ACTION_NEXT_FILE:
    case ACTION_PREVIOUS_FILE:
        go(app, action == ACTION_NEXT_FILE, true);
        return true;
    default:
        return false;
    }
}
