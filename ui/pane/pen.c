/* SGR: how the next characters look. */
#include "ui/pane/emulator_internal.h"

static int value_of(const struct sequence *s, int i)
{
    return i < s->count && s->arg[i].value > 0 ? s->arg[i].value : 0;
}

static int byte_of(const struct sequence *s, int i)
{
    int value = value_of(s, i);
    return value > 255 ? 255 : value;
}

static uint32_t rgb_of(const struct sequence *s, int i)
{
    return COLOR_RGB | (uint32_t)byte_of(s, i) << 16 | (uint32_t)byte_of(s, i + 1) << 8 |
           (uint32_t)byte_of(s, i + 2);
}

/* The index behind the argument i and those that belong to it by colons. */
static int group_end(const struct sequence *s, int i)
{
    while (i < s->count && s->arg[i].more)
        i++;
    return i + 1;
}

/* 38, 48 or 58 at i, with colons or semicolons. Returns the index behind it. */
static int read_color(const struct sequence *s, int i, uint32_t *ret_color)
{
    if (s->arg[i].more) {
        int end = group_end(s, i), kind = value_of(s, i + 1);
        if (end > s->count)
            end = s->count;
        if (kind == 5 && end - i >= 3)
            *ret_color = COLOR_INDEX | (uint32_t)byte_of(s, i + 2);
        else if (kind == 2 && end - i >= 6) /* with a colour space */
            *ret_color = rgb_of(s, i + 3);
        else if (kind == 2 && end - i == 5)
            *ret_color = rgb_of(s, i + 2);
        return end;
    }
    int kind = value_of(s, i + 1);
    if (kind == 5) {
        if (i + 2 < s->count)
            *ret_color = COLOR_INDEX | (uint32_t)byte_of(s, i + 2);
        return i + 3;
    }
    if (kind == 2) {
        if (i + 4 < s->count)
            *ret_color = rgb_of(s, i + 2);
        return i + 5;
    }
    return i + 2;
}

struct change {
    uint8_t number;
    uint16_t set, clear;
};
static const struct change changes[] = {
    {1, ATTR_BOLD, 0},     {2, ATTR_DIM, 0},        {3, ATTR_ITALIC, 0},
    {5, ATTR_BLINK, 0},    {6, ATTR_BLINK, 0},      {7, ATTR_REVERSE, 0},
    {9, ATTR_STRIKE, 0},   {21, ATTR_UNDERLINE, 0}, {22, 0, ATTR_BOLD | ATTR_DIM},
    {23, 0, ATTR_ITALIC},  {24, 0, ATTR_UNDERLINE}, {25, 0, ATTR_BLINK},
    {27, 0, ATTR_REVERSE}, {29, 0, ATTR_STRIKE},
};

static void set_plain(struct pen *pen, int number)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
        if (changes[i].number == number)
            pen->attr = (uint16_t)((pen->attr & ~changes[i].clear) | changes[i].set);
    if (number == 0)
        *pen = (struct pen){0};
    else if (number == 8 || number == 28)
        pen->concealed = number == 8;
    else if (number >= 30 && number <= 37)
        pen->fg = COLOR_INDEX | (uint32_t)(number - 30);
    else if (number == 39)
        pen->fg = COLOR_DEFAULT;
    else if (number >= 40 && number <= 47)
        pen->bg = COLOR_INDEX | (uint32_t)(number - 40);
    else if (number == 49)
        pen->bg = COLOR_DEFAULT;
    else if (number >= 90 && number <= 97)
        pen->fg = COLOR_INDEX | (uint32_t)(number - 90 + 8);
    else if (number >= 100 && number <= 107)
        pen->bg = COLOR_INDEX | (uint32_t)(number - 100 + 8);
}

void pen_set(struct pen *pen, const struct sequence *s)
{
    if (s->count == 0)
        *pen = (struct pen){0};
    for (int i = 0; i < s->count;) {
        int number = value_of(s, i);
        uint32_t unused;
        if (number == 38) {
            i = read_color(s, i, &pen->fg);
        } else if (number == 48) {
            i = read_color(s, i, &pen->bg);
        } else if (number == 58) {
            i = read_color(s, i, &unused);
        } else if (number == 4) { /* 4:0 none, 4:3 curly */
            bool off = s->arg[i].more && value_of(s, i + 1) == 0;
            pen->attr = (uint16_t)(off ? pen->attr & ~ATTR_UNDERLINE : pen->attr | ATTR_UNDERLINE);
            i = group_end(s, i);
        } else {
            set_plain(pen, number);
            i = group_end(s, i);
        }
    }
}
