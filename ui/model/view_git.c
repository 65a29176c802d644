/* What came out of the selected project's machine: what waits for review first, then branches, work that was
 * never pushed, and what became of former pushes. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { KIND, REPO, NAME, NEW, ABOUT, AGE };
static const struct column columns[] = {
    [KIND] = {N_("WHAT"), 11, false, 3, true, false},
    [REPO] = {N_("REPO"), 10, false, 4, true, false},
    [NAME] = {N_("NAME"), 18, false, 0, true, false},
    [NEW] = {N_("NEW"), 4, true, 2, true, true},
    [ABOUT] = {N_("STATE, AND WHAT IT SAYS"), 0, false, 0, false, false, 16},
    [AGE] = {N_("AGE"), 7, true, 1, true, false},
    {NULL},
};

static bool has(const struct app *app, int column)
{
    const struct git *git = &app->git;
    for (size_t i = 1; column == REPO && i < git->count; i++)
        if (strcmp(git->list[0].repo, git->list[i].repo) != 0)
            return true;
    return column != REPO;
}

static size_t end(const struct app *app)
{
    return app->git.project == app->selected ? app->git.count : 0;
}

static uint64_t identity(const struct app *app, size_t position)
{
    return position < app->git.count ? app->git.list[position].number : 0;
}

static const char *kind_word(const char *kind)
{
    static const char *const words[] = {N_("branch"), N_("unpushed"), N_("uncommitted"), N_("stash"),
                                        N_("tag"),    N_("push"),     N_("lost")};
    for (size_t i = 0; i < countof(words); i++)
        if (!strcmp(words[i], kind))
            return _(words[i]);
    return kind;
}

static const char *name_of(const struct git_row *row)
{
    return strcmp(row->kind, "uncommitted") ? row->name : _("work tree");
}

static enum style style_of(const struct git_row *row)
{
    if (git_waits(row))
        return row->class == REQUEST_ROUTINE ? STYLE_WAITING : STYLE_BAD;
    if (!strcmp(row->state, "denied"))
        return STYLE_WARN;
    if (!strcmp(row->state, "allowed"))
        return STYLE_GOOD;
    return row->push ? STYLE_DIM : STYLE_NORMAL;
}

/* Bytes of safe text of at most so many columns, for "%.*s". */
static int clip(const char *text, size_t most)
{
    size_t used;
    return (int)text_clip(text, strlen(text), most, &used);
}

static void about_cell(const struct git_row *row, struct cell_out *out)
{
    autofree char *state = git_state(row);
    const char *class = !git_waits(row)                  ? ""
                        : row->class == REQUEST_UNUSUAL  ? _(" UNUSUAL")
                        : row->class == REQUEST_CRITICAL ? _(" CRITICAL")
                                                         : "";
    out->style = style_of(row);
    out->text = *state ? out->room : row->subject;
    if (*state)
        snprintf(out->room, sizeof(out->room), "%.*s%s%s%.*s", clip(state, 60), state, class,
                 *row->subject ? "  " : "", clip(row->subject, 20), row->subject);
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    if (position >= app->git.count) /* a long list is sorted anew once a second only */
        return;
    const struct git_row *row = &app->git.list[position];
    switch (column) {
    case KIND:
        out->text = kind_word(row->kind);
        out->style = STYLE_DIM;
        break;
    case REPO:
        out->text = row->repo;
        out->style = STYLE_DIM;
        break;
    case NAME:
        out->text = name_of(row);
        break;
    case NEW:
        snprintf(out->room, sizeof(out->room), "%lld", (long long)row->commits);
        out->text = row->commits > 0 ? out->room : row->commits == 0 ? "-" : "";
        break;
    case ABOUT:
        about_cell(row, out);
        break;
    default:
        if (row->time_ns > 0 && app->now_ns > row->time_ns)
            units_format_duration((uint64_t)((app->now_ns - row->time_ns) / SECOND), out->room);
        out->text = out->room;
        out->style = STYLE_DIM;
    }
}

static int64_t order(const struct app *app, size_t position, int column)
{
    const struct git_row *row = &app->git.list[position];
    return column == NEW ? row->commits : column == AGE ? -row->time_ns : (int64_t)position;
}

static char *label(const struct app *app, uint64_t number)
{
    const struct git_row *row = git_find(&app->git, number);
    return row ? xstrdup(name_of(row)) : NULL;
}

static void detail(const struct app *app, uint64_t number, struct doc *out)
{
    const struct git_row *row = git_find(&app->git, number);
    char date[24];
    if (!row)
        return;
    autofree char *state = git_state(row);
    doc_add(out, STYLE_TITLE, kind_word(row->kind), name_of(row));
    if (*state)
        doc_add(out, style_of(row), _("state"), state);
    if (*row->by && !git_waits(row))
        doc_add(out, STYLE_NORMAL, _("by"), row->by);
    doc_add(out, STYLE_NORMAL, _("repository"), row->repo);
    doc_add(out, STYLE_NORMAL, _("commit"), row->commit);
    if (*row->subject)
        doc_add(out, STYLE_NORMAL, _("says"), row->subject);
    if (row->commits == 0)
        doc_add(out, STYLE_NORMAL, _("new"), _("nothing: your remote has all of it"));
    else if (row->commits > 0)
        doc_addf(out, STYLE_NORMAL, _("new"),
                 ngettext("%lld commit that your remote has not", "%lld commits that your remote has not",
                          (unsigned long)row->commits),
                 (long long)row->commits);
    field_date(row->time_ns, date);
    if (row->time_ns > 0)
        doc_add(out, STYLE_NORMAL, _("when"), date);
    doc_add(out, STYLE_DIM, _("ref"), row->ref);
    if (*row->folder) {
        doc_add(out, STYLE_DIM, "", "");
        doc_add(out, STYLE_NORMAL, "",
                _("of a project of this name that was removed; it is kept for 30 days and comes back by"));
        doc_addf(out, STYLE_NORMAL, "", "git fetch %s %s", row->folder, row->ref);
    }
}

static char *nothing(const struct app *app)
{
    if (app->git.failure)
        return xasprintf(_("what came out of the machine cannot be listed: %s"), app->git.failure);
    return xstrdup(app->git.known
                       ? _("nothing came out of the machine yet: a git push in it does, or f fetches")
                       : _("asking what came out of the machine ..."));
}

/* Read it; what is lost lies elsewhere, its detail says where. */
static void open(struct app *app, uint64_t number, struct effects *effects)
{
    const struct git_row *row = git_find(&app->git, number);
    if (!row)
        return;
    if (*row->folder) {
        app->doc_view = VIEW_GIT;
        app->doc_identity = number;
        list_restart(&app->lists[VIEW_DETAIL]);
        app_push(app, VIEW_DETAIL, effects);
        return;
    }
    bool push = git_waits(row) || row->push;
    autofree char *ref =
        push ? xasprintf("refs/pushes/%llu", (unsigned long long)row->request) : xstrdup(row->raw_ref);
    bool named = row->push || !strcmp(row->kind, "branch");
    struct review_target target = {app->git.project, row->request, row->raw_repo, ref,
                                   named ? row->name : NULL};
    review_open(app, &target, effects);
}

static const enum action bar[] = {ACTION_OPEN, ACTION_BACK,   ACTION_GIT_FETCH, ACTION_SEARCH,
                                  ACTION_SORT, ACTION_FILTER, ACTION_HELP,      ACTION_NONE};

const struct view view_git = {
    .name = "git",
    .title = N_("Git"),
    .map = KEYMAP_GIT,
    .flags = VIEW_LIST | VIEW_HEADER | VIEW_TAB | VIEW_PROJECT,
    .columns = columns,
    .bar = bar,
    .end = end,
    .identity = identity,
    .cell = cell,
    .has = has,
    .order = order,
    .label = label,
    .detail = detail,
    .open = open,
    .nothing = nothing,
    .shown = git_show,
    .hidden = git_hide,
};
