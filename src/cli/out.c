#include "cli/out.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX     16 /* of a table */
#define CELL_MAX        4096
#define NOTE_INDENT     7 /* "hutch: " */

char *out_wrap(const char *text, size_t used, size_t indent, size_t columns)
{
    struct buf out;
    size_t at = used; /* the column */
    bool begun = false;
    buf_init(&out, 0);
    if (indent + 20 > columns)
        indent = 0;
    while (*text) {
        size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " \n"), width;
        text_clip(text + blanks, len, SIZE_MAX, &width);
        if (begun && at + blanks + width > columns) {
            buf_printf(&out, NULL, "\n%*s", (int)indent, "");
            at = indent;
        } else {
            buf_append(&out, text, blanks, NULL);
            at += blanks;
        }
        buf_append(&out, text + blanks, len, NULL);
        at += width;
        begun = begun || len > 0;
        text += blanks + len;
        if (*text == '\n') {
            buf_append(&out, text++, 1, NULL);
            at = 0;
            begun = false;
        }
    }
    char *wrapped = buf_take_string(&out);
    buf_finish(&out);
    return wrapped;
}

/* Text for a stream that a person may look at: wrapped at words on a terminal, else as it is. Caller frees.
 */
static char *for_reader(int fd, const char *text, size_t used, size_t indent)
{
    return isatty(fd) ? out_wrap(text, used, indent, out_columns(fd)) : xstrdup(text);
}

void out_error(const struct error *err)
{
    autofree char *message = text_safe(err && err->message ? err->message : _("it failed"));
    autofree char *wrapped = for_reader(STDERR_FILENO, message, NOTE_INDENT, NOTE_INDENT);
    fprintf(stderr, "hutch: %s\n", wrapped);
    if (err && err->hint) {
        autofree char *hint = text_safe(err->hint);
        autofree char *lines = for_reader(STDERR_FILENO, hint, NOTE_INDENT, NOTE_INDENT);
        fprintf(stderr, "%*s%s\n", NOTE_INDENT, "", lines);
    }
}

void out_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *text = xvasprintf(format, args);
    va_end(args);
    autofree char *safe = text_safe(text);
    autofree char *wrapped = for_reader(STDERR_FILENO, safe, NOTE_INDENT, NOTE_INDENT + strspn(safe, " "));
    fprintf(stderr, "hutch: %s\n", wrapped);
}

/* When nobody reads stdout any more we end as any filter does. The signal is ignored elsewhere for the
 * socket's sake. */
static void end_without_reader(void)
{
    if (!ferror(stdout) || errno != EPIPE)
        return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

void out_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    end_without_reader();
}

void out_lines(size_t indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *text = xvasprintf(format, args);
    va_end(args);
    autofree char *wrapped = for_reader(STDOUT_FILENO, text, 0, indent);
    fputs(wrapped, stdout);
    end_without_reader();
}

const char *out_word(const char *english)
{
    return isatty(STDOUT_FILENO) ? _(english) : english;
}

void out_line_end(void)
{
    fflush(stdout);
    end_without_reader();
}

void out_json(const json_t *value)
{
    json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    putchar('\n');
    end_without_reader();
}

int out_flush(struct error **err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    end_without_reader();
    return error_set_errno(err, errno ? errno : EIO, _("cannot write the output"));
}

size_t out_columns(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return COLUMNS_DEFAULT;
}

int out_ask(const char *question, struct error **err)
{
    if (!isatty(STDIN_FILENO)) {
        error_set(err, ERROR_USAGE, _("this needs a yes, and there is no terminal to ask at"));
        return error_hint(err, _("give --yes"));
    }
    autofree char *safe = text_safe(question);
    fprintf(stderr, "%s [y/N] ", safe);
    char answer[16];
    if (fgets(answer, sizeof(answer), stdin) &&
        (strcasecmp(answer, "y\n") == 0 || strcasecmp(answer, "yes\n") == 0))
        return 0;
    return error_set(err, ERROR_CANCELLED, _("nothing was done"));
}

char *out_member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value)) {
        struct text text;
        text_init(&text, json_string_value(value), json_string_length(value), CELL_MAX, TEXT_DEFAULT);
        return text.bytes;
    }
    if (json_is_integer(value))
        return xasprintf("%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return xasprintf("%g", json_real_value(value));
    if (json_is_boolean(value))
        return xstrdup(json_is_true(value) ? "true" : "false");
    return xstrdup("");
}

int64_t out_number(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? (int64_t)json_number_value(value) : fallback;
}

const char *out_string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

char *out_age(int64_t ns)
{
    if (ns <= 0)
        return xstrdup("-");
    int64_t seconds = (units_now_ns() - ns) / 1000000000;
    char duration[UNITS_DURATION_MAX];
    return xasprintf(out_word(N_("%s ago")),
                     units_format_duration(seconds < 0 ? 0 : (uint64_t)seconds, duration));
}

char *out_time(int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;
    char text[32];
    if (!localtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
        return xstrdup("-");
    return xstrdup(text);
}

/* ---- tables ---- */

void table_add(struct table *table, const char *text)
{
    struct text safe;
    text_init(&safe, text ? text : "", text ? strlen(text) : 0, CELL_MAX, TEXT_DEFAULT);
    table->cells = xrealloc(table->cells, table->count + 1, sizeof(*table->cells));
    table->cells[table->count++] = safe.len > 0 ? xstrdup(safe.bytes) : xstrdup("-");
    text_finish(&safe);
}

/* Display width of safe text. */
static size_t width_of(const char *text)
{
    size_t columns;
    text_clip(text, strlen(text), SIZE_MAX, &columns);
    return columns;
}

/* Prints one cell padded to its width; the last one is cut to what is left instead. */
static void print_cell(const char *text, size_t width, bool right, bool last, size_t left)
{
    size_t columns = width_of(text);
    if (last && !right) {
        size_t shown = columns;
        size_t bytes =
            text_clip(text, strlen(text), columns > left ? (left > 0 ? left - 1 : 0) : left, &shown);
        printf("%.*s%s\n", (int)bytes, text, columns > left && left > 0 ? "+" : "");
        return;
    }
    int pad = (int)(width > columns ? width - columns : 0);
    printf("%*s%s%*s%s", right ? pad : 0, "", text, right ? 0 : pad, "", last ? "\n" : "  ");
}

void table_print(const struct table *table)
{
    size_t columns = 0, widths[COLUMNS_MAX];
    for (; table->titles[columns]; columns++) {
        require(columns < COLUMNS_MAX);
        widths[columns] = width_of(out_word(table->titles[columns]));
    }
    require(table->count % columns == 0);
    for (size_t i = 0; i < table->count; i++) {
        size_t width = width_of(table->cells[i]);
        if (width > widths[i % columns])
            widths[i % columns] = width;
    }
    size_t before = 0; /* of the last column */
    for (size_t i = 0; i + 1 < columns; i++)
        before += widths[i] + 2;
    size_t all = isatty(STDOUT_FILENO) ? out_columns(STDOUT_FILENO) : SIZE_MAX;
    size_t left = all > before ? all - before : 0;
    for (size_t i = 0; i < columns; i++)
        print_cell(out_word(table->titles[i]), widths[i], table->right[i] == 'r', i + 1 == columns, left);
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % columns;
        print_cell(table->cells[i], widths[column], table->right[column] == 'r', column + 1 == columns, left);
    }
}

void table_finish(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->count = 0;
}
