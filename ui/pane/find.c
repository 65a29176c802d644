/* Text of what was shown: searches, URLs and lines to copy. */
#include "base/alloc.h"
#include "base/text.h"
#include "ui/pane/emulator_internal.h"

#include <ctype.h>
#include <string.h>

#define TEXT_ROWS 200 /* rows of one logical line that are looked at */

/* The text of cells, and for each byte the cell that it is of. */
struct found {
    struct buf bytes, cells; /* cells: an int a byte */
};

static void found_init(struct found *found)
{
    buf_init(&found->bytes, 0);
    buf_init(&found->cells, 0);
}

static void found_finish(struct found *found)
{
    buf_finish(&found->bytes);
    buf_finish(&found->cells);
}

/* Appends a row; its cells are counted from first_cell on. whole: with the blanks at its end. */
static void add_row(struct found *found, const struct cell *cells, int columns, int first_cell, bool whole)
{
    int end = columns;
    while (!whole && end > 0 && (cells[end - 1].codes[0] == 0 || cells[end - 1].codes[0] == ' '))
        end--;
    uint8_t *bytes = buf_reserve(&found->bytes, (size_t)end * CELL_BYTES);
    int *of = (int *)(void *)buf_reserve(&found->cells, (size_t)end * CELL_BYTES * sizeof(*of));
    require(bytes && of);
    size_t n = 0;
    for (int c = 0; c < end; c++) {
        const struct cell *cell = &cells[c];
        size_t len = 1;
        if (cell->width == 0)
            continue;
        if (cell->codes[0] < 0x80 && !cell->codes[1])
            bytes[n] = cell->codes[0] ? (uint8_t)cell->codes[0] : ' ';
        else
            len = cell_text(cell, (char *)bytes + n);
        for (size_t i = 0; i < len; i++)
            of[n + i] = first_cell + c;
        n += len;
    }
    buf_commit(&found->bytes, n);
    buf_commit(&found->cells, n * sizeof(*of));
}

static void found_clear(struct found *found)
{
    buf_consume(&found->bytes, found->bytes.len);
    buf_consume(&found->cells, found->cells.len);
}

static int last_line(const struct emulator *e)
{
    return emulator_lines(e) + e->rows - 1;
}

static bool has_capital(const char *text)
{
    for (; *text; text++)
        if (isupper((unsigned char)*text))
            return true;
    return false;
}

static bool same(const uint8_t *bytes, const char *text, size_t len, bool exact)
{
    if (exact)
        return memcmp(bytes, text, len) == 0;
    for (size_t i = 0; i < len; i++)
        if (tolower(bytes[i]) != tolower((unsigned char)text[i]))
            return false;
    return true;
}

/* Whether the text begins in line n, and ends in it or in those that it goes on in. */
static bool line_has(const struct emulator *e, int n, const char *text, bool exact, struct cell *cells,
                     struct found *line)
{
    size_t len = strlen(text);
    found_clear(line);
    bool goes_on = emulator_line(e, n, cells);
    add_row(line, cells, e->columns, 0, goes_on);
    size_t own = line->bytes.len;
    while (goes_on && n > 0 && line->bytes.len < own + len) {
        goes_on = emulator_line(e, --n, cells);
        add_row(line, cells, e->columns, 0, goes_on);
    }
    const uint8_t *bytes = buf_data(&line->bytes);
    for (size_t i = 0; i < own && i + len <= line->bytes.len; i++)
        if (same(bytes + i, text, len, exact))
            return true;
    return false;
}

int emulator_search(const struct emulator *e, const char *text, int from, bool older)
{
    if (!*text)
        return -1;
    autofree struct cell *cells = xnewn(struct cell, e->columns);
    struct found line;
    found_init(&line);
    bool exact = has_capital(text);
    int last = last_line(e), found = -1;
    for (int n = from; n >= 0 && n <= last && found < 0; n += older ? 1 : -1)
        if (line_has(e, n, text, exact, cells, &line))
            found = n;
    found_finish(&line);
    return found;
}

/* ---- URLs ---- */

static bool url_byte(uint8_t byte)
{
    return byte > ' ' && byte < 0x7f && !strchr("<>\"`{}|\\^", byte);
}

/* Whether a row that does not wrap goes on in the next one all the same: programs that place their text
 * themselves break a URL at the right edge. */
static bool edge_joins(const struct cell *above, const struct cell *below, int columns)
{
    return above[columns - 1].codes[0] < 0x7f && url_byte((uint8_t)above[columns - 1].codes[0]) &&
           below[0].codes[0] < 0x7f && url_byte((uint8_t)below[0].codes[0]);
}

/* Whether line n goes on in the line below it. */
static bool joined(const struct emulator *e, int n, bool url, struct cell *above, struct cell *below)
{
    if (n <= 0)
        return false;
    if (emulator_line(e, n, above))
        return true;
    if (!url)
        return false;
    emulator_line(e, n - 1, below);
    return edge_joins(above, below, e->columns);
}

/* The logical line that line n is in. Returns the cell of it that column 0 of line n is. */
static int gather(const struct emulator *e, int n, bool url, struct found *found)
{
    autofree struct cell *cells = xnewn(struct cell, e->columns);
    autofree struct cell *others = xnewn(struct cell, e->columns);
    int first = n, last = last_line(e), offset = 0;
    while (first < last && first - n < TEXT_ROWS && joined(e, first + 1, url, cells, others))
        first++;
    bool more = true;
    for (int at = first; at >= 0 && more && first - at < 2 * TEXT_ROWS; at--) {
        more = joined(e, at, url, cells, others);
        emulator_line(e, at, cells);
        if (at == n)
            offset = (first - at) * e->columns;
        /* The column that a wide character left free at the end of a row is not text. */
        int columns = e->columns;
        if (more && columns > 1 && cells[columns - 1].codes[0] == 0 && cells[columns - 1].width == 1)
            columns--;
        add_row(found, cells, columns, (first - at) * e->columns, more);
    }
    return offset;
}

/* The start of the URL that byte `at` is in: behind the last byte that cannot be of one. */
static size_t url_start(const uint8_t *bytes, size_t at)
{
    while (at > 0 && url_byte(bytes[at - 1]))
        at--;
    return at;
}

static bool balanced(const uint8_t *bytes, size_t len, char open, char close)
{
    int depth = 0;
    for (size_t i = 0; i < len; i++)
        depth += bytes[i] == (uint8_t)open ? 1 : bytes[i] == (uint8_t)close ? -1 : 0;
    return depth >= 0;
}

/* What ends a sentence around a URL does not belong to it. */
static size_t trim_url(const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        char last = (char)bytes[len - 1];
        bool drop = strchr(".,;:!?'*", last) || (last == ')' && !balanced(bytes, len, '(', ')')) ||
                    (last == ']' && !balanced(bytes, len, '[', ']'));
        if (!drop)
            break;
        len--;
    }
    return len;
}

/* The URL that covers one of the bytes from…to. */
static char *find_url(const uint8_t *bytes, size_t len, size_t from, size_t to)
{
    static const char *const schemes[] = {"https://", "http://", "ftp://", "ssh://", "git://", "file://"};
    size_t start = url_start(bytes, from);
    for (size_t i = start; i <= from; i++) {
        for (size_t k = 0; k < countof(schemes); k++) {
            size_t scheme = strlen(schemes[k]);
            if (i + scheme >= len || !same(bytes + i, schemes[k], scheme, false))
                continue;
            size_t end = i;
            while (end < len && url_byte(bytes[end]))
                end++;
            size_t n = trim_url(bytes + i, end - i);
            if (n > scheme && i + n >= to)
                return xstrndup((const char *)bytes + i, n);
        }
    }
    return NULL;
}

char *emulator_text_at(const struct emulator *e, int back, int row, int column, bool url)
{
    int n = e->rows - 1 - row + back;
    if (row < 0 || n < 0 || n > last_line(e) || column < 0 || column >= e->columns)
        return NULL;
    struct found found;
    found_init(&found);
    int cell = gather(e, n, url, &found) + column;
    char *text = NULL;
    if (!url && found.bytes.len > 0) {
        struct text safe;
        text_init(&safe, buf_data(&found.bytes), found.bytes.len, 0, TEXT_KEEP_NEWLINES);
        text = xstrdup(safe.bytes);
        text_finish(&safe);
    }
    const uint8_t *bytes = buf_data(&found.bytes);
    for (size_t i = 0; url && i < found.bytes.len; i++) {
        int of;
        memcpy(&of, buf_data(&found.cells) + i * sizeof(of), sizeof(of));
        if (of == cell && url_byte(bytes[i])) {
            text = find_url(bytes, found.bytes.len, i, i + 1);
            break;
        }
    }
    found_finish(&found);
    return text;
}
