#include "ui/model/diff.h"

#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

#define TAB_COLUMNS 8
#define NO_FILE     SIZE_MAX

static void drop_lines(struct diff_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->lines[i].text);
    free(steal(&file->lines));
    free(steal(&file->pairs));
    file->count = file->pair_count = 0;
}

void diff_finish(struct diff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        struct diff_file *file = &diff->files[i];
        char *strings[] = {file->raw_path, file->path,   file->old_path, file->kind,
                           file->class,    file->target, file->old_mode, file->new_mode};
        for (size_t j = 0; j < countof(strings); j++)
            free(strings[j]);
        drop_lines(file);
        free(file->picked);
    }
    for (size_t i = 0; i < diff->word_count; i++)
        free(diff->words[i].text);
    free(diff->files);
    free(diff->words);
    free(diff->raw_repo);
    free(diff->raw_name);
    free(diff->failure);
    free(diff->scratch);
    *diff = (struct diff){0};
}

void diff_add_words(struct diff *diff, enum style style, const char *safe)
{
    diff->words = xrealloc(diff->words, diff->word_count + 1, sizeof(*diff->words));
    diff->words[diff->word_count++] = (struct diff_words){xstrdup(safe), style};
}

/* ---- text ---- */

/* Foreign bytes as safe text, tabs as blanks up to the next stop. The caller's to free. */
static char *make_text(const char *bytes, size_t len)
{
    struct text text;
    struct buf out;
    text_init(&text, bytes, len, 0, TEXT_KEEP_NEWLINES);
    if (!strpbrk(text.bytes, "\t\n"))
        return text.bytes;
    size_t column = 0;
    buf_init(&out, 0);
    for (const char *at = text.bytes; *at;) {
        size_t used, plain = strcspn(at, "\t\n");
        buf_append(&out, at, plain, NULL);
        text_clip(at, plain, SIZE_MAX, &used);
        column += used;
        at += plain;
        if (!*at)
            break;
        size_t blanks = *at++ == '\t' ? TAB_COLUMNS - column % TAB_COLUMNS : 1;
        buf_append(&out, "        ", blanks, NULL);
        column += blanks;
    }
    text_finish(&text);
    return buf_take_string(&out);
}

/* ---- what comes in ---- */

static void set(char **place, const json_t *json, const char *key)
{
    free(*place);
    *place = field_text(json, key);
}

static void take_count(struct diff *diff, const json_t *json)
{
    int64_t count = field_number(json, "files", 0);
    diff->known = true;
    diff->cut = diff->cut || json_is_true(json_object_get(json, "cut"));
    if (diff->files || count < 1)
        return;
    diff->count = count > DIFF_FILES_MAX ? DIFF_FILES_MAX : (size_t)count;
    diff->files = xnewn(struct diff_file, diff->count);
}

static struct diff_file *file_of(struct diff *diff, const json_t *json, size_t *ret_number)
{
    int64_t number = field_number(json, "file", -1);
    if (number < 0 || (uint64_t)number >= diff->count)
        return NULL;
    *ret_number = (size_t)number;
    return &diff->files[number];
}

static void take_file(struct diff_file *file, const json_t *json)
{
    const char *path = json_string_value(json_object_get(json, "path"));
    const char *status = json_string_value(json_object_get(json, "status"));
    free(file->raw_path);
    file->raw_path = xstrdup(path ? path : "");
    set(&file->path, json, "path");
    set(&file->old_path, json, "old_path");
    set(&file->kind, json, "kind");
    set(&file->class, json, "class");
    set(&file->target, json, "target");
    set(&file->old_mode, json, "old_mode");
    set(&file->new_mode, json, "new_mode");
    file->status = status && *status >= 'A' && *status <= 'Z' ? *status : '?';
    file->old_size = field_number(json, "old_size", -1);
    file->new_size = field_number(json, "new_size", -1);
    file->insertions = field_number(json, "insertions", -1);
    file->deletions = field_number(json, "deletions", -1);
    file->binary = json_is_true(json_object_get(json, "binary"));
    file->too_large = json_is_true(json_object_get(json, "too_large"));
    file->outside = json_is_true(json_object_get(json, "outside"));
}

static struct diff_line *add_line(struct diff *diff, struct diff_file *file, char sign, char *text)
{
    if ((file->count & (file->count - 1)) == 0) /* doubled whenever it is a power of two */
        file->lines = xrealloc(file->lines, file->count ? file->count * 2 : 1, sizeof(*file->lines));
    struct diff_line *line = &file->lines[file->count++];
    *line =
        (struct diff_line){.text = text, .sign = sign, .hunk = (uint32_t)(file->hunks ? file->hunks - 1 : 0)};
    diff->bytes += strlen(text) + 1;
    return line;
}

static void take_hunk(struct diff *diff, struct diff_file *file, const json_t *json)
{
    file->hunks++;
    struct diff_line *line = add_line(diff, file, '@', field_text(json, "header"));
    line->old_no = (uint32_t)field_number(json, "old_start", 0);
    line->new_no = (uint32_t)field_number(json, "new_start", 0);
}

/* The numbers go on from those of the line before. */
static void number(struct diff_file *file, struct diff_line *line)
{
    const struct diff_line *before = line > file->lines ? line - 1 : NULL;
    if (!before)
        return;
    bool begins = before->sign == '@';
    line->old_no = before->old_no + (!begins && (before->sign == ' ' || before->sign == '-'));
    line->new_no = before->new_no + (!begins && (before->sign == ' ' || before->sign == '+'));
}

static void take_lines(struct diff *diff, struct diff_file *file, const json_t *lines)
{
    size_t i;
    const json_t *one;
    json_array_foreach(lines, i, one)
    {
        const char *text = json_string_value(one);
        size_t len = json_string_length(one);
        char sign = text && strchr(" +-\\", *text) ? *text : ' ';
        if (!text || !len)
            continue;
        char *words = sign == '\\' ? xstrdup(_(" no end of line here")) : make_text(text + 1, len - 1);
        struct diff_line *line = add_line(diff, file, sign, words);
        number(file, line);
    }
}

/* All of a file has come. */
static void end_file(struct diff *diff)
{
    if (diff->page_file == NO_FILE)
        return;
    diff->files[diff->page_file].here = true;
    diff->page_file = NO_FILE;
}

static void take_line(struct diff *diff, const json_t *json, bool with_lines)
{
    size_t at;
    if (json_object_get(json, "tip")) {
        take_count(diff, json);
        return;
    }
    diff->cut = diff->cut || json_is_true(json_object_get(json, "cut"));
    struct diff_file *file = file_of(diff, json, &at);
    if (!file)
        return;
    if (json_object_get(json, "status")) {
        if (with_lines) {
            end_file(diff);
            drop_lines(file);
            file->hunks = 0;
            diff->page_file = at;
        }
        take_file(file, json);
        if (at == diff->listed)
            diff->listed++;
    } else if (at == diff->page_file && json_object_get(json, "header")) {
        take_hunk(diff, file, json);
    } else if (at == diff->page_file) {
        take_lines(diff, file, json_object_get(json, "lines"));
    }
}

/* ---- asking ---- */

static struct call *ask(struct app *app, const struct diff *diff, const char *more,
                        void (*take)(struct app *, struct call *, const struct message *, struct effects *),
                        struct effects *effects)
{
    const struct project *project = projects_find(&app->projects, diff->project);
    if (!project || !app->up)
        return NULL;
    autofree char *query = field_path("/git/diff?repo=%s&branch=%s", diff->raw_repo, diff->raw_name);
    autofree char *rest = xasprintf("%s%s%s", query, diff->alone ? "&alone=1" : "", more);
    autofree char *path = project_api_path(project, rest);
    return app_call(app, EFFECT_LINES, "GET", path, NULL, take, effects);
}

static struct diff *diff_of(struct app *app, const struct call *call)
{
    struct diff *both[] = {&app->review.all, &app->review.one};
    for (size_t i = 0; i < countof(both); i++)
        if (both[i]->list_call == call->id || both[i]->page_call == call->id)
            return both[i];
    return NULL;
}

static void news(struct app *app, struct diff *diff)
{
    diff_layout(diff);
    review_news(app);
    if (app->review.shown == diff)
        app_news(app, VIEW_DIFF);
}

static void ask_list(struct app *app, struct diff *diff, struct effects *effects);

static void take_list(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct diff *diff = diff_of(app, call);
    if (!diff)
        return;
    if (message->type == MESSAGE_LINE) {
        take_line(diff, message->body, false);
        return;
    }
    size_t before = (size_t)call->number;
    diff->list_call = 0;
    free(steal(&diff->failure));
    if (message->error)
        diff->failure = xstrdup(message->error->message);
    else if (diff->listed < diff->count && diff->listed > before)
        ask_list(app, diff, effects);
    news(app, diff);
}

/* The next files of the list. */
static void ask_list(struct app *app, struct diff *diff, struct effects *effects)
{
    autofree char *more =
        xasprintf("&from=%zu&max=%d", diff->listed, diff->listed ? DIFF_FILES_PAGE : DIFF_FILES_FIRST);
    struct call *call = ask(app, diff, more, take_list, effects);
    if (!call)
        return;
    call->number = diff->listed;
    diff->list_call = call->id;
}

static void take_page(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct diff *diff = diff_of(app, call);
    (void)effects;
    if (!diff)
        return;
    if (message->type == MESSAGE_LINE) {
        take_line(diff, message->body, true);
        return;
    }
    diff->page_call = 0;
    if (message->error) {
        diff->page_file = NO_FILE;
        diff->failure = (free(diff->failure), xstrdup(message->error->message));
        app_say_error(app, message->error);
    }
    end_file(diff);
    news(app, diff);
}

static void ask_page(struct app *app, struct diff *diff, size_t from, size_t bytes, struct effects *effects)
{
    autofree char *more = xasprintf("&lines=1&from=%zu&bytes=%zu", from, bytes);
    struct call *call = ask(app, diff, more, take_page, effects);
    if (!call)
        return;
    diff->page_file = NO_FILE;
    diff->page_call = call->id;
}

void diff_want(struct app *app, struct diff *diff, size_t top, size_t rows, struct effects *effects)
{
    struct diff_row row;
    if (!diff->known || diff->failure || diff->page_call || !app->up)
        return;
    for (size_t i = 0; i < rows && diff_row(diff, top + i, &row); i++) {
        if (row.part != DIFF_NOTE || diff->files[row.file].here)
            continue;
        ask_page(app, diff, row.file, DIFF_FIRST_BYTES, effects);
        return;
    }
    while (diff->ahead < diff->count && diff->files[diff->ahead].here)
        diff->ahead++;
    if (diff->ahead < diff->count && diff->bytes < DIFF_AHEAD_BYTES)
        ask_page(app, diff, diff->ahead, DIFF_PAGE_BYTES, effects);
}

size_t diff_missing(const struct diff *diff)
{
    size_t missing = 0;
    for (size_t i = diff->ahead; i < diff->count; i++)
        missing += !diff->files[i].here;
    return missing;
}

void diff_open(struct app *app, struct diff *diff, uint64_t project, const char *raw_repo,
               const char *raw_name, bool alone, struct effects *effects)
{
    diff_close(app, diff, effects);
    diff->project = project;
    diff->raw_repo = xstrdup(raw_repo);
    diff->raw_name = xstrdup(raw_name);
    diff->alone = alone;
    diff->page_file = NO_FILE;
    diff->scratch = xnewn(char, DIFF_TEXT_MAX);
    ask_list(app, diff, effects);
}

void diff_close(struct app *app, struct diff *diff, struct effects *effects)
{
    app_cancel(app, diff->list_call, effects);
    app_cancel(app, diff->page_call, effects);
    diff_finish(diff);
}
