#include "ui/term/theme.h"

#include "base/alloc.h"

#define C(n)    (COLOR_INDEX | (n))
#define D       COLOR_DEFAULT
#define BOLD    ATTR_BOLD
#define UNDER   ATTR_UNDERLINE
#define REVERSE ATTR_REVERSE

/* state is also a word, so that no theme needs all of these apart; but WAITING, BAD, ESCAPED, the selected
 * row and the field with the cursor differ from text in each. */
static const struct look looks[][STYLE_GUEST] =
    {
        [THEME_DARK] =
            {
                [STYLE_NORMAL] = {D, D, 0},
                [STYLE_DIM] = {C(245), D, 0},
                [STYLE_TITLE] = {C(255), C(24), BOLD},
                [STYLE_BAR] = {C(250), D, 0},
                [STYLE_KEY] = {C(117), D, BOLD},
                [STYLE_HEADER] = {C(248), D, BOLD},
                [STYLE_RULE] = {C(240), D, 0},
                [STYLE_SELECTED] = {C(255), C(238), 0},
                [STYLE_MARKED] = {C(222), D, BOLD},
                [STYLE_MATCH] = {C(16), C(222), 0},
                [STYLE_TAB] = {C(250), D, 0},
                [STYLE_TAB_HERE] = {C(16), C(117), BOLD},
                [STYLE_GOOD] = {C(114), D, 0},
                [STYLE_BUSY] = {C(117), D, 0},
                [STYLE_WARN] = {C(221), D, 0},
                [STYLE_BAD] = {C(203), D, BOLD},
                [STYLE_WAITING] = {C(16), C(214), BOLD},
                [STYLE_FIELD] = {C(252), C(236), 0},
                [STYLE_FIELD_HERE] = {C(255), C(24), 0},
                [STYLE_ESCAPED] = {C(231), C(125), 0},
                [STYLE_ADDED] = {C(114), D, 0},
                [STYLE_REMOVED] = {C(203), D, 0},
                [STYLE_ADDED_WORD] = {C(16), C(114), 0},
                [STYLE_REMOVED_WORD] = {C(16), C(203), 0},
                [STYLE_HUNK] = {C(117), D, 0},
                [STYLE_STATUS] = {C(252), C(238), 0},
            },
        [THEME_LIGHT] =
            {
                [STYLE_NORMAL] = {D, D, 0},
                [STYLE_DIM] = {C(243), D, 0},
                [STYLE_TITLE] = {C(231), C(25), BOLD},
                [STYLE_BAR] = {C(238), D, 0},
                [STYLE_KEY] = {C(25), D, BOLD},
                [STYLE_HEADER] = {C(240), D, BOLD},
                [STYLE_RULE] = {C(250), D, 0},
                [STYLE_SELECTED] = {C(16), C(153), 0},
                [STYLE_MARKED] = {C(130), D, BOLD},
                [STYLE_MATCH] = {C(16), C(222), 0},
                [STYLE_TAB] = {C(238), D, 0},
                [STYLE_TAB_HERE] = {C(231), C(25), BOLD},
                [STYLE_GOOD] = {C(28), D, 0},
                [STYLE_BUSY] = {C(25), D, 0},
                [STYLE_WARN] = {C(130), D, 0},
                [STYLE_BAD] = {C(160), D, BOLD},
                [STYLE_WAITING] = {C(16), C(214), BOLD},
                [STYLE_FIELD] = {C(16), C(254), 0},
                [STYLE_FIELD_HERE] = {C(16), C(153), 0},
                [STYLE_ESCAPED] = {C(231), C(125), 0},
                [STYLE_ADDED] = {C(28), D, 0},
                [STYLE_REMOVED] = {C(160), D, 0},
                [STYLE_ADDED_WORD] = {C(231), C(28), 0},
                [STYLE_REMOVED_WORD] = {C(231), C(160), 0},
                [STYLE_HUNK] = {C(25), D, 0},
                [STYLE_STATUS] = {C(16), C(252), 0},
            },
        [THEME_16] =
            {
                [STYLE_NORMAL] = {D, D, 0},
                [STYLE_DIM] = {D, D, ATTR_DIM},
                [STYLE_TITLE] = {D, D, REVERSE | BOLD},
                [STYLE_BAR] = {D, D, 0},
                [STYLE_KEY] = {D, D, BOLD},
                [STYLE_HEADER] = {D, D, BOLD},
                [STYLE_RULE] = {D, D, ATTR_DIM},
                [STYLE_SELECTED] = {D, D, REVERSE},
                [STYLE_MARKED] = {C(3), D, BOLD},
                [STYLE_MATCH] = {C(3), D, REVERSE},
                [STYLE_TAB] = {D, D, 0},
                [STYLE_TAB_HERE] = {D, D, REVERSE | BOLD},
                [STYLE_GOOD] = {C(2), D, 0},
                [STYLE_BUSY] = {C(6), D, 0},
                [STYLE_WARN] = {C(3), D, 0},
                [STYLE_BAD] = {C(1), D, BOLD},
                [STYLE_WAITING] = {C(3), D, REVERSE | BOLD},
                [STYLE_FIELD] = {D, D, UNDER},
                [STYLE_FIELD_HERE] = {D, D, REVERSE},
                [STYLE_ESCAPED] = {C(5), D, REVERSE},
                [STYLE_ADDED] = {C(2), D, 0},
                [STYLE_REMOVED] = {C(1), D, 0},
                [STYLE_ADDED_WORD] = {C(2), D, REVERSE},
                [STYLE_REMOVED_WORD] = {C(1), D, REVERSE},
                [STYLE_HUNK] = {C(6), D, 0},
                [STYLE_STATUS] = {D, D, REVERSE},
            },
        [THEME_MONO] =
            {
                [STYLE_NORMAL] = {D, D, 0},
                [STYLE_DIM] = {D, D, ATTR_DIM},
                [STYLE_TITLE] = {D, D, REVERSE | BOLD},
                [STYLE_BAR] = {D, D, 0},
                [STYLE_KEY] = {D, D, BOLD},
                [STYLE_HEADER] = {D, D, BOLD},
                [STYLE_RULE] = {D, D, ATTR_DIM},
                [STYLE_SELECTED] = {D, D, REVERSE},
                [STYLE_MARKED] = {D, D, BOLD},
                [STYLE_MATCH] = {D, D, REVERSE | UNDER},
                [STYLE_TAB] = {D, D, 0},
                [STYLE_TAB_HERE] = {D, D, REVERSE | BOLD},
                [STYLE_GOOD] = {D, D, 0},
                [STYLE_BUSY] = {D, D, 0},
                [STYLE_WARN] = {D, D, UNDER},
                [STYLE_BAD] = {D, D, BOLD},
                [STYLE_WAITING] = {D, D, REVERSE | BOLD},
                [STYLE_FIELD] = {D, D, UNDER},
                [STYLE_FIELD_HERE] = {D, D, REVERSE},
                [STYLE_ESCAPED] = {D, D, REVERSE | UNDER},
                [STYLE_ADDED] = {D, D, 0},
                [STYLE_REMOVED] = {D, D, 0},
                [STYLE_ADDED_WORD] = {D, D, UNDER | BOLD},
                [STYLE_REMOVED_WORD] = {D, D, UNDER | BOLD},
                [STYLE_HUNK] = {D, D, BOLD},
                [STYLE_STATUS] = {D, D, REVERSE},
            },
};

struct look theme_look(enum theme theme, enum style style, int colors)
{
    require(style < STYLE_GUEST);
    if (colors < 8)
        theme = THEME_MONO;
    else if (colors < 256 && theme != THEME_MONO)
        theme = THEME_16;
    return looks[theme][style];
}
