/* A push as it is read: what would run here, commits, files; and, in a view of its own, what differs. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/units.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { MARK, LABEL, TEXT, NUMBERS, ABOUT };
static const struct column columns[] = {
    [MARK] = {" ", 1, false, 0, false, false},
    [LABEL] = {N_("WHAT"), 9, false, 0, false, false},
    [TEXT] = {N_("NAME"), 0, false, 0, false, false, 20},
    [NUMBERS] = {N_("LINES"), 13, true, 2, false, false},
    [ABOUT] = {N_("ABOUT"), 26, false, 3, false, false},
    {NULL},
};

static size_t end(const struct app *app)
{
    return app->review.row_count;
}

static uint64_t identity(const struct app *app, size_t position)
{
    if (position >= app->review.row_count)
        return 0;
    const struct review_row *row = &app->review.rows[position];
    return ((uint64_t)row->part + 1) << 40 | (row->index + 1);
}

static const char *change_word(const char *change)
{
    return !strcmp(change, "new")       ? _("new")
           : !strcmp(change, "changed") ? _("changed")
           : !strcmp(change, "deleted") ? _("deleted")
           : !strcmp(change, "mode")    ? _("mode")
                                        : change;
}

static void kept_cell(const struct review_kept *kept, int column, struct cell_out *out)
{
    out->style = STYLE_BAD;
    if (column == LABEL)
        out->text = change_word(kept->change);
    else if (column == TEXT)
        out->text = *kept->path ? kept->path : _("not all of it could be looked at");
    else if (column == ABOUT) {
        snprintf(out->room, sizeof(out->room), "%s", kept->class);
        out->text = *kept->target ? kept->target : out->room;
    }
}

static void commit_cell(const struct app *app, const struct review_commit *commit, int column,
                        struct cell_out *out)
{
    if (column == LABEL) {
        snprintf(out->room, sizeof(out->room), "%.9s", commit->id);
        out->text = out->room;
        out->style = STYLE_DIM;
    } else if (column == TEXT) {
        out->text = commit->subject;
    } else if (column == NUMBERS) {
        if (commit->time_ns > 0 && app->now_ns > commit->time_ns)
            units_format_duration((uint64_t)((app->now_ns - commit->time_ns) / SECOND), out->room);
        out->text = out->room;
        out->style = STYLE_DIM;
    } else if (column == ABOUT) {
        out->text = commit->author;
        out->style = STYLE_DIM;
    }
}

static void file_cell(const struct diff_file *file, int column, struct cell_out *out)
{
    if (column == MARK) {
        out->room[0] = diff_mark(file);
        out->room[1] = 0;
        out->style = STYLE_MARKED;
    } else if (column == LABEL) {
        snprintf(out->room, sizeof(out->room), "%c", file->status);
        out->style = file->status == 'A' ? STYLE_GOOD : file->status == 'D' ? STYLE_BAD : STYLE_NORMAL;
    } else if (column == NUMBERS) {
        autofree char *numbers = diff_numbers(file);
        snprintf(out->room, sizeof(out->room), "%s", numbers);
    } else if (column == ABOUT) {
        autofree char *about = diff_about(file);
        snprintf(out->room, sizeof(out->room), "%.100s", about);
        out->style = *file->class || file->outside ? STYLE_BAD : STYLE_DIM;
    }
    out->text = out->room;
    if (column != TEXT)
        return;
    out->text = file->path;
    if (*file->old_path && (size_t)snprintf(out->room, sizeof(out->room), "%s -> %s", file->old_path,
                                            file->path) < sizeof(out->room))
        out->text = out->room;
}

static void cell(const struct app *app, size_t position, int column, struct cell_out *out)
{
    const struct review *review = &app->review;
    if (position >= review->row_count)
        return;
    const struct review_row *row = &review->rows[position];
    out->text = "";
    switch (row->part) {
    case REVIEW_FACT:
        out->text = column == LABEL  ? review->facts[row->index].label
                    : column == TEXT ? review->facts[row->index].text
                                     : "";
        out->style = column == LABEL ? STYLE_DIM : review->facts[row->index].style;
        break;
    case REVIEW_TITLE:
        out->text = column == TEXT ? row->text : "";
        out->style = row->index == 0 ? STYLE_BAD : STYLE_HEADER;
        break;
    case REVIEW_NOTE:
        out->text = column == TEXT ? row->text : "";
        out->style = STYLE_DIM;
        break;
    case REVIEW_KEPT:
        kept_cell(&review->kept[row->index], column, out);
        break;
    case REVIEW_COMMIT:
        commit_cell(app, &review->commits[row->index], column, out);
        break;
    case REVIEW_FILE:
        file_cell(&review->all.files[row->index], column, out);
        break;
    case REVIEW_BLANK:
        break;
    }
}

static char *label(const struct app *app, uint64_t number)
{
    (void)number;
    return review_label(app);
}

static uint64_t project_of(const struct app *app, uint64_t number)
{
    (void)number;
    return app->review.project;
}

static void open(struct app *app, uint64_t number, struct effects *effects)
{
    const struct review *review = &app->review;
    enum review_part part = (enum review_part)((number >> 40) - 1);
    size_t index = (size_t)(number & 0xffffffffff) - 1;
    if (part == REVIEW_COMMIT)
        review_open_commit(app, index, effects);
    else if (part == REVIEW_FILE)
        review_open_file(app, index, effects);
    else if (part == REVIEW_KEPT && index < review->kept_count) {
        size_t at = 0;
        while (at < review->all.listed && strcmp(review->all.files[at].path, review->kept[index].path) != 0)
            at++;
        review_open_file(app, at < review->all.listed ? at : 0, effects);
    } else if (review->all.count)
        review_open_file(app, 0, effects);
}

static char *heading(const struct app *app)
{
    const struct review *review = &app->review;
    bool other = review->repo && strcmp(review->repo, review->project_name) != 0;
    return review->raw_ref ? xasprintf("%s  %s%s%s", review->project_name, other ? review->repo : "",
                                       other ? "  " : "", review->name)
                           : NULL;
}

static const char *able(const struct app *app, uint64_t number, enum action action)
{
    (void)number;
    return review_able(app, action);
}

static void words(const struct app *app, uint64_t number, enum action action, struct act_words *out)
{
    (void)number;
    review_words(app, action, out);
}

static bool act(struct app *app, uint64_t number, enum action action, struct effects *effects)
{
    (void)number;
    return review_act(app, action, effects);
}

static const char *says(const struct app *app, uint64_t number, enum action action)
{
    (void)number;
    return action == ACTION_OPEN ? _("diff") : review_says(app, action);
}

static char *twin(const struct app *app, uint64_t number, enum action action)
{
    (void)number;
    return review_twin(app, action);
}

static char *nothing(const struct app *app)
{
    return xstrdup(app->review.failure ? app->review.failure : _("reading it ..."));
}

static const enum action bar[] = {ACTION_OPEN, ACTION_LAND,   ACTION_REJECT,       ACTION_PICK, ACTION_PAGER,
                                  ACTION_BACK, ACTION_SEARCH, ACTION_REVIEW_AGAIN, ACTION_HELP, ACTION_NONE};
static const enum action acts[] = {ACTION_LAND,  ACTION_LAND_FORWARD, ACTION_REJECT, ACTION_PICK,
                                   ACTION_PAGER, ACTION_REVIEW_AGAIN, ACTION_NONE};

const struct view view_push = {
    .name = "push",
    .title = N_("Push"),
    .map = KEYMAP_REVIEW,
    .flags = VIEW_LIST,
    .columns = columns,
    .bar = bar,
    .acts = acts,
    .end = end,
    .identity = identity,
    .cell = cell,
    .label = label,
    .project = project_of,
    .able = able,
    .words = words,
    .act = act,
    .says = says,
    .twin = twin,
    .open = open,
    .heading = heading,
    .nothing = nothing,
    .shown = review_check,
};

/* ---- what differs ---- */

static const struct column columns_diff[] = {
    {" ", DIFF_NUMBER_COLUMNS, false, 0, false, false}, {N_("LINE"), 0, false, 0, false, false, 1}, {NULL}};

static size_t end_diff(const struct app *app)
{
    return app->review.shown ? app->review.shown->rows : 0;
}

static uint64_t identity_diff(const struct app *app, size_t position)
{
    return app->review.shown ? diff_identity(app->review.shown, position) : 0;
}

static void cell_diff(const struct app *app, size_t position, int column, struct cell_out *out)
{
    struct diff_row row;
    out->text = "";
    if (column == 1 && app->review.shown && diff_row(app->review.shown, position, &row))
        out->text = diff_text(app->review.shown, &row);
}

/* Side by side nothing is wrapped: each half scrolls. */
static bool has_diff(const struct app *app, int column)
{
    return column == 0 || !app->review.shown || !app->review.shown->split;
}

static char *heading_diff(const struct app *app)
{
    const struct review *review = &app->review;
    const struct diff *diff = review->shown;
    size_t file, line;
    if (!diff)
        return NULL;
    if (!diff_find(diff, app_cursor(app, VIEW_DIFF), &file, &line))
        return xasprintf("%s  %.12s", review->name, diff->raw_name);
    return xasprintf(_("%s  file %zu of %zu"), review->name, file + 1, diff->count);
}

static char *nothing_diff(const struct app *app)
{
    const struct diff *diff = app->review.shown;
    return xstrdup(!diff           ? ""
                   : diff->failure ? diff->failure
                   : diff->known   ? _("nothing differs")
                                   : _("asking for the files ..."));
}

static void hidden_diff(struct app *app, struct effects *effects)
{
    (void)effects;
    app->review.shown = NULL;
}

static const char *says_diff(const struct app *app, uint64_t number, enum action action)
{
    (void)number;
    return action == ACTION_OPEN ? "" : review_says(app, action);
}

static void open_diff(struct app *app, uint64_t number, struct effects *effects)
{
    (void)app, (void)number, (void)effects; /* there is nothing below a line */
}

static const enum action bar_diff[] = {ACTION_LAND,      ACTION_REJECT,       ACTION_PICK, ACTION_NEXT_HUNK,
                                       ACTION_NEXT_FILE, ACTION_SIDE_BY_SIDE, ACTION_BACK, ACTION_WORD_DIFF,
                                       ACTION_PAGER,     ACTION_SEARCH,       ACTION_HELP, ACTION_NONE};
static const enum action acts_diff[] = {ACTION_LAND,         ACTION_LAND_FORWARD,  ACTION_REJECT,
                                        ACTION_PICK,         ACTION_PAGER,         ACTION_NEXT_HUNK,
                                        ACTION_NEXT_FILE,    ACTION_PREVIOUS_HUNK, ACTION_PREVIOUS_FILE,
                                        ACTION_SIDE_BY_SIDE, ACTION_WORD_DIFF,     ACTION_NONE};

const struct view view_diff = {
    .name = "diff",
    .title = N_("Diff"),
    .map = KEYMAP_REVIEW,
    .flags = VIEW_LIST,
    .columns = columns_diff,
    .bar = bar_diff,
    .acts = acts_diff,
    .end = end_diff,
    .identity = identity_diff,
    .cell = cell_diff,
    .has = has_diff,
    .label = label,
    .project = project_of,
    .able = able,
    .words = words,
    .act = act,
    .says = says_diff,
    .twin = twin,
    .open = open_diff,
    .heading = heading_diff,
    .nothing = nothing_diff,
    .hidden = hidden_diff,
};
