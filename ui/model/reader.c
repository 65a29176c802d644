/* The output of a session and the serial log: bytes that come in and are rows. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/words.h"

#include <string.h>

static struct reader *reader_of(struct app *app, uint64_t view)
{
    return view == VIEW_OUTPUT ? &app->output : &app->console;
}

static void take_bytes(struct app *app, struct reader *reader, int stream, const struct message *message)
{
    struct list *list = &app->lists[reader->view];
    size_t end = reader->lines.end;
    size_t lowest = lines_take(&reader->lines, &reader->streams[stream], message->bytes, message->len);
    for (size_t position = lowest; position < end; position++)
        list_changed(list, position);
    if (reader->lines.end > end)
        list_grown(list);
}

static void take(struct app *app, struct call *call, const struct message *message, struct effects *effects)
{
    int stream = (int)(call->number & 1);
    struct reader *reader = reader_of(app, call->number >> 1);
    (void)effects;
    if (message->type == MESSAGE_BYTES) {
        if (reader->lines.end == 0 && message->offset > 0) {
            lines_add(&reader->lines, STYLE_DIM, _("(what was written before this is no longer kept)"));
            list_news(&app->lists[reader->view]);
        }
        take_bytes(app, reader, stream, message);
        return;
    }
    if (message->type != MESSAGE_ANSWER)
        return;
    reader->calls[stream] = 0;
    if (message->error)
        reader->words = (free(reader->words), xstrdup(message->error->message));
    list_news(&app->lists[reader->view]);
}

void reader_read(struct app *app, struct reader *reader, int stream, enum style style, const char *path,
                 struct effects *effects)
{
    struct call *call = app_call(app, EFFECT_BYTES, "GET", path, NULL, take, effects);
    call->number = (uint64_t)reader->view << 1 | (uint64_t)stream;
    reader->calls[stream] = call->id;
    reader->streams[stream] = (struct lines_stream){.style = style};
}

void reader_close(struct app *app, struct reader *reader, struct effects *effects)
{
    for (int stream = 0; stream < 2; stream++) {
        app_cancel(app, reader->calls[stream], effects);
        reader->calls[stream] = 0;
    }
    lines_clear(&reader->lines);
    free(steal(&reader->words));
    list_news(&app->lists[reader->view]);
}

void reader_finish(struct reader *reader)
{
    lines_clear(&reader->lines);
    free(reader->words);
    free(reader->project);
    free(reader->session);
    free(reader->title);
}

bool reader_reads(const struct reader *reader)
{
    return reader->calls[0] || reader->calls[1];
}

/* ---- rows of both views ---- */

static void line_cell(const struct lines *lines, size_t position, struct cell_out *out)
{
    const struct line *line = lines_at(lines, position);
    if (!line)
        return;
    out->text = line->text;
    out->style = line->style;
}

static char *line_copy(const struct lines *lines, uint64_t identity)
{
    const struct line *line = lines_at(lines, identity - 1);
    return line ? xstrdup(line->text) : NULL;
}

/* A line whole, however long it is. */
static void line_detail(const struct lines *lines, uint64_t identity, struct doc *out)
{
    const struct line *line = lines_at(lines, identity - 1);
    if (line)
        doc_add(out, line->style, _("line"), line->text);
}

static uint64_t identity(const struct app *app, size_t position)
{
    (void)app;
    return position + 1;
}

static const struct column columns[] = {{"", 0, false, 0, false, false}, {NULL}};

/* ---- the output of a session ---- */

static size_t first_output(const struct app *app)
{
    return app->output.lines.first;
}

static size_t end_output(const struct app *app)
{
    return app->output.lines.end;
}

static void cell_output(const struct app *app, size_t position, int column, struct cell_out *out)
{
    (void)column;
    line_cell(&app->output.lines, position, out);
}

static char *copy_output(const struct app *app, uint64_t identity)
{
    return line_copy(&app->output.lines, identity);
}

static void detail_output(const struct app *app, uint64_t identity, struct doc *out)
{
    line_detail(&app->output.lines, identity, out);
}

/* "npm test   (goes on)" for the top line. */
static char *heading_output(const struct app *app)
{
    const struct reader *reader = &app->output;
    return xasprintf("%s%s", reader->title ? reader->title : "",
                     reader_reads(reader) ? _("   (goes on)") : "");
}

static char *nothing_output(const struct app *app)
{
    const struct reader *reader = &app->output;
    if (reader->words)
        return xasprintf(_("its output cannot be read: %s"), reader->words);
    return xstrdup(reader_reads(reader) ? _("it has written nothing so far") : _("it wrote nothing"));
}

static void shown_output(struct app *app, struct effects *effects)
{
    struct reader *reader = &app->output;
    if (!reader->session)
        return;
    autofree char *out = field_path("/v1/projects/%s/sessions/%s/stdout", reader->project, reader->session);
    autofree char *errors =
        field_path("/v1/projects/%s/sessions/%s/stderr", reader->project, reader->session);
    reader_close(app, reader, effects);
    reader_read(app, reader, 0, STYLE_NORMAL, out, effects);
    if (!reader->pty)
        reader_read(app, reader, 1, STYLE_WARN, errors, effects);
}

static void hidden_output(struct app *app, struct effects *effects)
{
    reader_close(app, &app->output, effects);
}

void output_open(struct app *app, const char *project, const char *session, const char *title, bool pty,
                 struct effects *effects)
{
    struct reader *reader = &app->output;
    reader->project = (free(reader->project), xstrdup(project));
    reader->session = (free(reader->session), xstrdup(session));
    reader->title = (free(reader->title), xstrdup(title));
    reader->pty = pty;
    list_restart(&app->lists[VIEW_OUTPUT]);
    app_push(app, VIEW_OUTPUT, effects);
}

static const enum action bar[] = {ACTION_BACK,   ACTION_FOLLOW, ACTION_SEARCH, ACTION_SEARCH_NEXT,
                                  ACTION_FILTER, ACTION_WRAP,   ACTION_COPY,   ACTION_BOTTOM,
                                  ACTION_HELP,   ACTION_NONE};

const struct view view_output = {
    .name = "output",
    .title = N_("Output"),
    .flags = VIEW_LOG,
    .columns = columns,
    .bar = bar,
    .first = first_output,
    .end = end_output,
    .identity = identity,
    .cell = cell_output,
    .copy = copy_output,
    .detail = detail_output,
    .heading = heading_output,
    .nothing = nothing_output,
    .shown = shown_output,
    .hidden = hidden_output,
};

/* ---- the serial log ---- */

static size_t first_console(const struct app *app)
{
    return app->console.lines.first;
}

static size_t end_console(const struct app *app)
{
    return app->console.lines.end;
}

static void cell_console(const struct app *app, size_t position, int column, struct cell_out *out)
{
    (void)column;
    line_cell(&app->console.lines, position, out);
}

static char *copy_console(const struct app *app, uint64_t identity)
{
    return line_copy(&app->console.lines, identity);
}

static void detail_console(const struct app *app, uint64_t identity, struct doc *out)
{
    line_detail(&app->console.lines, identity, out);
}

static char *nothing_console(const struct app *app)
{
    if (app->console.words)
        return xasprintf(_("the serial log cannot be read: %s"), app->console.words);
    char terminal[24] = "", shell[24] = "";
    const struct project *project = app_project(app);
    const struct bindings *bindings = &app->settings.bindings;
    bindings_key(bindings, KEYMAP_PROJECT, ACTION_TERMINAL, terminal);
    bindings_key(bindings, KEYMAP_PROJECT, ACTION_SHELL, shell);
    return xasprintf(
        _("This is the log of the machine's serial console, and it is empty: a machine boots quietly, and "
          "writes here only what goes wrong. There is no login here: %s opens a terminal in it, %s a new "
          "shell. Its system's own log: hutch exec %s -u root -- journalctl -b"),
        terminal, shell, project ? project->name : "NAME");
}

static void shown_console(struct app *app, struct effects *effects)
{
    const struct project *project = app_project(app);
    reader_close(app, &app->console, effects);
    if (!project || !app->up)
        return;
    autofree char *path = field_path("/v1/projects/%s/console?follow=1", project->raw_name);
    reader_read(app, &app->console, 0, STYLE_NORMAL, path, effects);
}

static void hidden_console(struct app *app, struct effects *effects)
{
    reader_close(app, &app->console, effects);
}

static const enum action bar_console[] = {ACTION_FOLLOW, ACTION_BACK, ACTION_SEARCH, ACTION_SEARCH_NEXT,
                                          ACTION_FILTER, ACTION_WRAP, ACTION_COPY,   ACTION_ACTIONS,
                                          ACTION_HELP,   ACTION_NONE};

const struct view view_console = {
    .name = "console",
    .title = N_("Console"),
    .flags = VIEW_LOG | VIEW_TAB | VIEW_PROJECT,
    .columns = columns,
    .bar = bar_console,
    .first = first_console,
    .end = end_console,
    .identity = identity,
    .cell = cell_console,
    .copy = copy_console,
    .detail = detail_console,
    .nothing = nothing_console,
    .shown = shown_console,
    .hidden = hidden_console,
};
