#include "ui/term/screen.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/words.h"
#include "ui/term/pairs.h"
#include "ui/term/palette.h"
#include "ui/term/theme.h"

#define NCURSES_NOMACROS 1
#define key_name         curses_key_name /* ours has the name */
#include <curses.h>
#undef key_name
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <term.h>
#include <wchar.h>

#undef columns /* <term.h> has a macro for each capability */

#define DIRECT_NAME "hutch-direct"
#define PAIRS_MOST  16384
#define CODES_MAX   5 /* of a curses cell */

struct screen {
    SCREEN *curses;
    FILE *in, *out; /* of curses: nothing, and memory */
    int memory;
    int colors;
    bool mono, direct, ascii;
    enum theme theme;
    struct look looks[STYLE_GUEST];
    struct pairs *pairs;
    struct grid *shown; /* as drawn last; NULL: nothing was */
    int rows, columns;
    bool full;
};

/* What a cell looks like in curses' words. */
struct paint {
    attr_t attr;
    int pair;
};

/* Sets a variable of the environment (NULL: unsets it); returns what it was, the caller's to free. */
static char *swap_variable(const char *name, const char *value)
{
    char *old = xstrdup(getenv(name));
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return old;
}

/* Curses takes signals that are the loop's; they are as before afterwards. */
static SCREEN *new_screen(const char *type, FILE *out, FILE *in)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
    struct sigaction kept[countof(taken)];
    for (size_t i = 0; i < countof(taken); i++)
        sigaction(taken[i], NULL, &kept[i]);
    /* A size for entries without one; the real one is set after it, and what a shell exported does not count.
     */
    autofree char *high = swap_variable("LINES", "24"), *wide = swap_variable("COLUMNS", "80");
    SCREEN *curses = newterm(type, out, in);
    free(swap_variable("LINES", high));
    free(swap_variable("COLUMNS", wide));
    for (size_t i = 0; i < countof(taken); i++)
        sigaction(taken[i], &kept[i], NULL);
    return curses;
}

/* What setupterm found is forgotten: newterm reads it again. */
static bool setup(const char *type, int fd)
{
    int found = 0;
    return setupterm(type, fd, &found) == OK && found == 1;
}

static void forget(void)
{
    if (cur_term)
        del_curterm(cur_term);
}

/* Our entry from where terminfo is looked for, beside the programs, or with the data. */
static SCREEN *new_direct_screen(FILE *out, FILE *in)
{
    auto(paths) struct paths *paths = NULL;
    autofree char *beside = NULL;
    if (paths_find(&paths, NULL) == 0)
        beside = file_join(paths->programs, "terminfo");
    const char *const folders[] = {NULL, beside, HUTCH_DATADIR "/terminfo"};
    autofree char *kept = xstrdup(getenv("TERMINFO"));
    SCREEN *curses = NULL;
    for (size_t i = 0; i < countof(folders) && !curses; i++) {
        if (folders[i] && !file_exists(folders[i]))
            continue;
        if (folders[i])
            setenv("TERMINFO", folders[i], 1);
        if (setup(DIRECT_NAME, fileno(out))) {
            forget();
            curses = new_screen(DIRECT_NAME, out, in);
        }
    }
    free(swap_variable("TERMINFO", kept));
    return curses;
}

/* Whether curses can show the screen on a terminal. *ret_common: it has 256 colours and moves the cursor in
 * the common way, so that our entry fits it if it has direct colour. */
static bool look_up(const char *type, int fd, bool *ret_common)
{
    if (!setup(type, fd))
        return false;
    const char *move = tigetstr("cup");
    bool moves = move && move != (char *)-1;
    *ret_common = moves && tigetnum("colors") >= 256 && !strcmp(move, "\x1b[%i%p1%d;%p2%dH");
    forget();
    return moves;
}

static int open_memory(struct screen *screen, struct error **err)
{
    screen->memory = memfd_create("hutch-screen", MFD_CLOEXEC);
    screen->out = screen->memory < 0 ? NULL : fdopen(screen->memory, "w+e");
    screen->in = fopen("/dev/null", "re");
    if (!screen->out || !screen->in)
        return error_set(err, ERROR_IO, _("the screen's memory cannot be had"));
    return 0;
}

static void set_colors(struct screen *screen)
{
    if (screen->mono || !has_colors() || start_color() != OK || use_default_colors() != OK)
        return;
    static const int depths[] = {PALETTE_DIRECT, 256, 16, 8};
    for (size_t i = 0; i < countof(depths) && !screen->colors; i++)
        if (COLORS >= depths[i] && (depths[i] < PALETTE_DIRECT || screen->direct))
            screen->colors = depths[i];
}

int screen_create(const struct screen_options *options, struct screen **ret_screen, struct error **err)
{
    auto(screen) struct screen *screen = xnew(struct screen);
    screen->memory = -1;
    screen->mono = options->mono;
    screen->ascii = !options->utf8;
    int rc = open_memory(screen, err);
    if (rc < 0)
        return rc;
    bool common = false;
    bool known = look_up(options->type, screen->memory, &common);
    use_env(TRUE);
    use_tioctl(FALSE);
    if (known && options->direct && !options->mono && common)
        screen->curses = new_direct_screen(screen->out, screen->in);
    screen->direct = screen->curses != NULL;
    if (known && !screen->curses)
        screen->curses = new_screen(options->type, screen->out, screen->in);
    if (!screen->curses)
        return error_set(err, ERROR_INVALID, _("the terminal \"%s\" (TERM) cannot show the screen"),
                         options->type);
    set_colors(screen);
    screen->pairs =
        pairs_create(screen->colors ? (COLOR_PAIRS - 1 < PAIRS_MOST ? COLOR_PAIRS - 1 : PAIRS_MOST) : 0);
    nonl();
    typeahead(-1);
    idlok(stdscr, TRUE);
    screen->rows = options->rows;
    screen->columns = options->columns;
    resize_term(screen->rows, screen->columns);
    screen_theme(screen, screen->mono ? THEME_MONO : THEME_DARK);
    *ret_screen = steal(&screen);
    return 0;
}

void screen_free(struct screen *screen)
{
    if (!screen)
        return;
    if (screen->curses) {
        endwin();
        delscreen(screen->curses);
    }
    if (screen->out)
        fclose(screen->out);
    else if (screen->memory >= 0)
        close(screen->memory);
    if (screen->in)
        fclose(screen->in);
    pairs_free(screen->pairs);
    grid_free(screen->shown);
    free(screen);
}

int screen_colors(const struct screen *screen)
{
    return screen->theme == THEME_MONO ? 0 : screen->colors;
}

void screen_theme(struct screen *screen, enum theme theme)
{
    screen->theme = screen->mono ? THEME_MONO : theme;
    for (int style = 0; style < STYLE_GUEST; style++)
        screen->looks[style] = theme_look(screen->theme, style, screen->colors);
    screen->full = true;
}

void screen_ascii(struct screen *screen)
{
    screen->ascii = true;
    screen->full = true;
}

static struct look look_of(const struct screen *screen, const struct cell *cell)
{
    if (cell->style < STYLE_GUEST)
        return screen->looks[cell->style];
    return (struct look){cell->fg, cell->bg, cell->attr};
}

/* A colour of 8: the bright ones are bold if they are the foreground. */
static int few_colors(const struct screen *screen, int color, attr_t *bright)
{
    if (screen->colors != 8 || color < 8)
        return color;
    *bright |= A_BOLD;
    return color - 8;
}

/* *ret_new: curses has the pair in other colours on the screen. */
static struct paint paint_of(struct screen *screen, const struct look *look, bool *ret_new)
{
    const struct {
        int attr;
        attr_t curses;
    } attrs[] = {
        {ATTR_BOLD, A_BOLD},
        {ATTR_DIM, A_DIM},
        {ATTR_ITALIC, A_ITALIC},
        {ATTR_UNDERLINE, A_UNDERLINE},
        {ATTR_REVERSE, A_REVERSE},
        {ATTR_BLINK, A_BLINK},
        {ATTR_STRIKE, screen->direct ? A_PROTECT : 0}, /* hutch.ti */
    };
    struct paint paint = {0};
    attr_t none = 0;
    for (size_t i = 0; i < countof(attrs); i++)
        paint.attr |= look->attr & attrs[i].attr ? attrs[i].curses : 0;
    int colors = screen_colors(screen);
    int fg = few_colors(screen, palette_color(look->fg, colors), &paint.attr);
    int bg = few_colors(screen, palette_color(look->bg, colors), &none);
    if (pairs_get(screen->pairs, fg, bg, &paint.pair)) {
        init_extended_pair(paint.pair, fg, bg);
        *ret_new = true;
    }
    return paint;
}

/* The characters of a cell as the terminal's columns have them: what the locale has in another width would
 * move the rest of the row. Returns the columns they take. */
static int characters_of(const struct screen *screen, const struct cell *cell, wchar_t ret[CODES_MAX + 1])
{
    int n = 0;
    wchar_t code = (wchar_t)cell->codes[0];
    ret[n++] = code ? code : L' ';
    ret[1] = L'\0';
    if (code &&
        (!cell_code_ok(cell->codes[0]) || (screen->ascii && code >= 0x80) || wcwidth(code) != cell->width)) {
        ret[0] = screen->ascii ? L'?' : 0xfffd;
        return 1;
    }
    for (int i = 1; code && !screen->ascii && i < CELL_CODES && cell->codes[i] && n < CODES_MAX; i++)
        if (cell_code_ok(cell->codes[i]) && wcwidth((wchar_t)cell->codes[i]) == 0)
            ret[n++] = (wchar_t)cell->codes[i];
    ret[n] = L'\0';
    return cell->width == 2 ? 2 : 1;
}

/* Puts one row. */
static void put_row(struct screen *screen, const struct cell *cells, int row, int columns,
                    const struct paint *paints)
{
    autofree cchar_t *line = xnewn(cchar_t, (size_t)columns + 1);
    int n = 0;
    for (int column = 0, taken; column < columns; column += taken) {
        wchar_t text[CODES_MAX + 1];
        int pair = paints[column].pair;
        taken = characters_of(screen, cells + column, text);
        if (column + taken > columns) {
            text[0] = L' ';
            text[1] = L'\0';
            taken = 1;
        }
        setcchar(&line[n++], text, paints[column].attr, 0, &pair);
    }
    mvadd_wchnstr(row, 0, line, n);
}

/* Puts a row if its cells changed, or if one of them has another pair than it had. */
static void draw_row(struct screen *screen, const struct grid *grid, int row, bool all)
{
    const struct cell *cells = grid->cells + (size_t)row * grid->columns;
    int columns = grid->columns < screen->columns ? grid->columns : screen->columns;
    const struct cell *shown = all ? NULL : screen->shown->cells + (size_t)row * grid->columns;
    bool changed = !shown || memcmp(cells, shown, sizeof(*cells) * (size_t)grid->columns) != 0;
    autofree struct paint *paints = xnewn(struct paint, (size_t)columns);
    struct look last = {0};
    for (int column = 0; column < columns; column++) {
        const struct cell *cell = cells + column;
        if (cell->width == 0 && column > 0) {
            paints[column] = paints[column - 1];
            continue;
        }
        struct look look = look_of(screen, cell);
        if (column > 0 && !memcmp(&look, &last, sizeof(look)))
            paints[column] = paints[column - 1];
        else
            paints[column] = paint_of(screen, &look, &changed);
        last = look;
    }
    if (changed)
        put_row(screen, cells, row, columns, paints);
}

static bool is_same(const struct screen *screen, const struct grid *grid)
{
    const struct grid *shown = screen->shown;
    if (!shown || shown->rows != grid->rows || shown->columns != grid->columns ||
        shown->cursor != grid->cursor)
        return false;
    if (grid->cursor &&
        (shown->cursor_row != grid->cursor_row || shown->cursor_column != grid->cursor_column))
        return false;
    return !memcmp(shown->cells, grid->cells,
                   sizeof(struct cell) * (size_t)grid->rows * (size_t)grid->columns);
}

/* Keeps what was drawn. */
static void keep(struct screen *screen, const struct grid *grid)
{
    if (screen->shown == grid)
        return;
    if (!screen->shown || screen->shown->rows != grid->rows || screen->shown->columns != grid->columns) {
        grid_free(screen->shown);
        screen->shown = grid_create(grid->rows, grid->columns);
    }
    struct cell *cells = screen->shown->cells;
    *screen->shown = *grid;
    screen->shown->cells = cells;
    memcpy(cells, grid->cells, sizeof(*cells) * (size_t)grid->rows * (size_t)grid->columns);
}

static void set_cursor(struct screen *screen, const struct grid *grid)
{
    bool on = grid->cursor && grid->cursor_row < screen->rows && grid->cursor_column < screen->columns;
    curs_set(on);
    leaveok(stdscr, !on);
    if (on)
        wmove(stdscr, grid->cursor_row, grid->cursor_column);
}

void screen_draw(struct screen *screen, const struct grid *grid, int rows, int columns, bool full,
                 struct buf *out)
{
    bool resized = rows != screen->rows || columns != screen->columns;
    full = full || screen->full || resized || !screen->shown;
    if (!full && is_same(screen, grid))
        return;
    if (resized)
        resize_term(rows, columns);
    screen->rows = rows;
    screen->columns = columns;
    bool all = full || screen->shown->rows != grid->rows || screen->shown->columns != grid->columns;
    if (all)
        werase(stdscr);
    if (full)
        clearok(stdscr, TRUE);
    pairs_frame(screen->pairs);
    for (int row = 0; row < grid->rows && row < rows; row++)
        draw_row(screen, grid, row, all);
    set_cursor(screen, grid);
    wnoutrefresh(stdscr);
    doupdate();
    keep(screen, grid);
    screen->full = false;
    screen_take(screen, out);
}

void screen_redraw(struct screen *screen, int rows, int columns, struct buf *out)
{
    if (!screen->shown)
        screen->shown = grid_create(1, 1);
    screen_draw(screen, screen->shown, rows, columns, true, out);
}

void screen_leave(struct screen *screen)
{
    endwin();
    struct buf dropped;
    buf_init(&dropped, 0);
    screen_take(screen, &dropped);
    buf_finish(&dropped);
    screen->full = true;
}

void screen_take(struct screen *screen, struct buf *out)
{
    fflush(screen->out);
    off_t len = lseek(screen->memory, 0, SEEK_CUR);
    uint8_t *to = len > 0 ? buf_reserve(out, (size_t)len) : NULL;
    ssize_t n = to ? pread(screen->memory, to, (size_t)len, 0) : 0;
    if (n > 0)
        buf_commit(out, (size_t)n);
    require(ftruncate(screen->memory, 0) == 0);
    lseek(screen->memory, 0, SEEK_SET);
}

static struct buf *back_to;

static int put_back(int byte)
{
    uint8_t one = (uint8_t)byte;
    buf_append(back_to, &one, 1, NULL);
    return byte;
}

void screen_back(struct screen *screen, struct buf *out)
{
    static const char *const names[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
    static const char whole[] = "\x1b[r"; /* curses has set a region of the size that terminfo knows */
    const char *region = tigetstr("csr");
    back_to = out;
    if (region && !strncmp(region, "\x1b[", 2))
        buf_append(out, whole, sizeof(whole) - 1, NULL);
    for (size_t i = 0; i < countof(names); i++) {
        const char *string = tigetstr(names[i]);
        if (string && string != (char *)-1)
            tputs(string, 1, put_back);
    }
}
