#include "ui/pane/history.h"

#include "base/alloc.h"

#include <string.h>

/* A line is a chain of runs of cells that look alike. A run's text is a character a cell (two for a wide
 * one), UTF-8, with its marks before it: a byte 1…5 says how many. */
struct run {
    uint32_t fg, bg;
    uint16_t attr, cells, bytes;
    uint8_t width;
};
struct line {
    int cells, rows;
    uint32_t bytes; /* of data */
    bool wide;      /* has wide characters */
    bool open;      /* goes on in what is pushed next */
    uint8_t data[];
};
struct history {
    struct line **line; /* a ring */
    int first, count, capacity;
    int columns, rows;
    int hint_line, hint_row; /* a line counted from the newest, and its newest row: where the last look was */
    size_t bytes, bytes_max;
    uint64_t pushed;
    struct buf encoded;
};

struct history *history_create(int lines, size_t bytes, int columns)
{
    struct history *history = xnew(struct history);
    history->capacity = lines < 1 ? 1 : lines;
    history->line = xnewn(struct line *, history->capacity);
    history->bytes_max = bytes;
    history->columns = columns;
    buf_init(&history->encoded, 0);
    return history;
}

void history_free(struct history *history)
{
    if (!history)
        return;
    history_clear(history);
    buf_finish(&history->encoded);
    free(history->line);
    free(history);
}

static struct line **slot(const struct history *history, int n)
{
    return &history->line[(history->first + n) % history->capacity];
}

static size_t line_size(const struct line *line)
{
    return sizeof(*line) + line->bytes + 2 * sizeof(void *);
}

void history_clear(struct history *history)
{
    for (int i = 0; i < history->count; i++)
        free(*slot(history, i));
    history->first = history->count = history->rows = 0;
    history->hint_line = history->hint_row = 0;
    history->bytes = 0;
}

static void drop_oldest(struct history *history)
{
    struct line *line = *slot(history, 0);
    history->rows -= line->rows;
    history->bytes -= line_size(line);
    free(line);
    history->first = (history->first + 1) % history->capacity;
    history->count--;
}

/* ---- cells to bytes and back ---- */

static size_t put_code(uint8_t *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xc0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (code & 0x3f));
    return 4;
}

/* Of what put_code wrote. */
static uint32_t take_code(const uint8_t **p)
{
    uint32_t first = *(*p)++;
    if (first < 0x80)
        return first;
    int more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    uint32_t code = first & (0x3fu >> more);
    while (more--)
        code = code << 6 | (*(*p)++ & 0x3f);
    return code;
}

static size_t put_cell(uint8_t *out, const struct cell *cell)
{
    int marks = 0;
    size_t n = 0;
    while (marks + 1 < CELL_CODES && cell->codes[0] && cell->codes[marks + 1])
        marks++;
    if (marks > 0)
        out[n++] = (uint8_t)marks;
    n += put_code(out + n, cell->codes[0] ? cell->codes[0] : ' ');
    for (int i = 1; i <= marks; i++)
        n += put_code(out + n, cell->codes[i]);
    return n;
}

static bool alike(const struct cell *a, const struct cell *b)
{
    return a->width == b->width && a->attr == b->attr && a->fg == b->fg && a->bg == b->bg;
}

/* Appends the runs of cells to history->encoded. Returns whether there are wide ones. */
static bool encode(struct history *history, const struct cell *cells, int len)
{
    bool wide = false;
    for (int i = 0; i < len;) {
        const struct cell *first = &cells[i];
        struct run run = {.fg = first->fg, .bg = first->bg, .attr = first->attr, .width = first->width};
        uint8_t *out = buf_reserve(&history->encoded, sizeof(run) + (size_t)(len - i) * (CELL_CODES * 4 + 1));
        require(out != NULL);
        size_t n = sizeof(run);
        int step = first->width == 2 ? 2 : 1;
        wide |= step == 2;
        for (; i < len && alike(first, &cells[i]) && n < UINT16_MAX - CELL_CODES * 4; i += step) {
            n += put_cell(out + n, &cells[i]);
            run.cells++;
        }
        run.bytes = (uint16_t)(n - sizeof(run));
        memcpy(out, &run, sizeof(run));
        buf_commit(&history->encoded, n);
    }
    return wide;
}

/* Writes the cells from…to of a line. */
static void decode(const struct line *line, int from, int to, struct cell *out)
{
    const uint8_t *p = line->data, *end = line->data + line->bytes;
    int at = 0;
    while (p < end && at < to) {
        struct run run;
        memcpy(&run, p, sizeof(run));
        p += sizeof(run);
        const uint8_t *next = p + run.bytes;
        int step = run.width == 2 ? 2 : 1;
        struct cell cell = {
            .width = run.width, .style = STYLE_GUEST, .attr = run.attr, .fg = run.fg, .bg = run.bg};
        if (at + run.cells * step <= from) {
            at += run.cells * step;
            p = next;
            continue;
        }
        for (; p < next && at < to; at += step) {
            int marks = *p < 6 ? *p++ : 0;
            memset(cell.codes, 0, sizeof(cell.codes));
            cell.codes[0] = take_code(&p);
            for (int i = 1; i <= marks; i++)
                cell.codes[i] = take_code(&p);
            if (cell.codes[0] == ' ' && marks == 0)
                cell.codes[0] = 0;
            if (at >= from)
                out[at - from] = cell;
            if (step == 2 && at + 1 >= from && at + 1 < to) {
                out[at + 1 - from] = cell;
                out[at + 1 - from].width = 0;
                memset(out[at + 1 - from].codes, 0, sizeof(cell.codes));
            }
        }
        p = next;
    }
}

/* ---- rows ---- */

int history_break(const struct cell *cells, int len, int start, int columns)
{
    int end = start + columns;
    if (end >= len)
        return len;
    if (cells[end].width == 0 && columns > 1)
        end--;
    return end;
}

static int count_rows(const struct line *line, int columns)
{
    if (!line->wide || line->cells <= columns)
        return line->cells <= columns ? 1 : (line->cells + columns - 1) / columns;
    int rows = 1, column = 0;
    for (const uint8_t *p = line->data; p < line->data + line->bytes;) {
        struct run run;
        memcpy(&run, p, sizeof(run));
        p += sizeof(run) + run.bytes;
        int step = run.width == 2 ? 2 : 1;
        for (int i = 0; i < run.cells; i++) {
            if (column + step > columns) {
                rows++;
                column = 0;
            }
            column += step;
        }
    }
    return rows;
}

void history_set_columns(struct history *history, int columns)
{
    if (columns == history->columns)
        return;
    history->hint_line = history->hint_row = 0;
    history->columns = columns;
    history->rows = 0;
    for (int i = 0; i < history->count; i++) {
        struct line *line = *slot(history, i);
        line->rows = count_rows(line, columns);
        history->rows += line->rows;
    }
}

int history_rows(const struct history *history)
{
    return history->rows;
}

uint64_t history_pushed(const struct history *history)
{
    return history->pushed;
}

size_t history_bytes(const struct history *history)
{
    return history->bytes;
}

/* Finds the line that row n belongs to, from where the last look was. Makes n a row of it, counted from its
 * newest. NULL: there is none. */
static const struct line *find_line(struct history *history, int *n)
{
    int at = history->hint_line, row = history->hint_row;
    while (at > 0 && row > *n)
        row -= (*slot(history, history->count - 1 - --at))->rows;
    for (; at < history->count; at++) {
        const struct line *line = *slot(history, history->count - 1 - at);
        if (*n < row + line->rows) {
            history->hint_line = at;
            history->hint_row = row;
            *n -= row;
            return line;
        }
        row += line->rows;
    }
    return NULL;
}

bool history_row(struct history *history, int n, struct cell *cells)
{
    int columns = history->columns;
    for (int c = 0; c < columns; c++)
        cells[c] = history_blank();
    const struct line *line = find_line(history, &n);
    if (!line)
        return false;
    int row = line->rows - 1 - n; /* of the line, from its first */
    int from = row * columns, to = from + columns;
    if (line->wide && line->rows > 1) {
        autofree struct cell *all = xnewn(struct cell, line->cells);
        decode(line, 0, line->cells, all);
        from = 0;
        for (int r = 0; r < row; r++)
            from = history_break(all, line->cells, from, columns);
        to = history_break(all, line->cells, from, columns);
    }
    decode(line, from, to < line->cells ? to : line->cells, cells);
    return n > 0 || line->open;
}

/* ---- in and out ---- */

bool history_open(const struct history *history)
{
    return history->count > 0 && (*slot(history, history->count - 1))->open;
}

void history_close(struct history *history)
{
    if (history->count > 0)
        (*slot(history, history->count - 1))->open = false;
}

/* The row goes on with the newest line. */
static void join(struct history *history, int len, bool wide, bool wrapped)
{
    struct line **at = slot(history, history->count - 1);
    struct line *line = *at;
    size_t more = history->encoded.len;
    line = xrealloc(line, 1, sizeof(*line) + line->bytes + more);
    memcpy(line->data + line->bytes, buf_data(&history->encoded), more);
    line->bytes += (uint32_t)more;
    line->cells += len;
    line->wide |= wide;
    line->open = wrapped;
    history->bytes += more;
    history->rows -= line->rows;
    /* What is pushed is a row of this width; counting wide characters each time would be slow. */
    line->rows = line->wide ? line->rows + 1 : count_rows(line, history->columns);
    history->rows += line->rows;
    *at = line;
}

void history_push(struct history *history, const struct cell *cells, int len, bool wrapped)
{
    bool joined =
        history_open(history) && (*slot(history, history->count - 1))->cells + len <= HISTORY_LINE_CELLS;
    history->hint_line = history->hint_row = 0;
    history->pushed++;
    bool wide = encode(history, cells, len);
    size_t bytes = history->encoded.len;
    if (joined) {
        join(history, len, wide, wrapped);
    } else {
        if (history->count == history->capacity)
            drop_oldest(history);
        struct line *line = xcalloc(1, sizeof(*line) + bytes);
        memcpy(line->data, buf_data(&history->encoded), bytes);
        line->bytes = (uint32_t)bytes;
        line->cells = len;
        line->wide = wide;
        line->open = wrapped;
        line->rows = count_rows(line, history->columns);
        *slot(history, history->count++) = line;
        history->rows += line->rows;
        history->bytes += line_size(line);
    }
    buf_consume(&history->encoded, history->encoded.len);
    while (history->count > 1 && history->bytes > history->bytes_max)
        drop_oldest(history);
}

struct cell *history_take(struct history *history, int *ret_len)
{
    if (history->count == 0)
        return NULL;
    history->hint_line = history->hint_row = 0;
    struct line *line = *slot(history, history->count - 1);
    struct cell *cells = xnewn(struct cell, line->cells + 1);
    decode(line, 0, line->cells, cells);
    *ret_len = line->cells;
    history->rows -= line->rows;
    history->bytes -= line_size(line);
    history->count--;
    free(line);
    return cells;
}
