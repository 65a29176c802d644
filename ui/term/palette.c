#include "ui/term/palette.h"

#include "base/alloc.h"
#include "ui/grid/grid.h"

static const uint32_t basic[16] = {
    0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
    0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
};
static const uint8_t steps[6] = {0, 95, 135, 175, 215, 255}; /* of the cube 16–231 */

uint32_t palette_rgb(int index)
{
    require(index >= 0 && index < 256);
    if (index < 16)
        return basic[index];
    if (index >= 232) {
        uint32_t gray = 8 + 10 * (uint32_t)(index - 232);
        return gray << 16 | gray << 8 | gray;
    }
    index -= 16;
    return (uint32_t)steps[index / 36] << 16 | (uint32_t)steps[index / 6 % 6] << 8 | steps[index % 6];
}

/* How different two colours look: the eye sees green best. */
static uint32_t distance(uint32_t a, uint32_t b)
{
    int red = (int)(a >> 16) - (int)(b >> 16);
    int green = (int)(a >> 8 & 0xff) - (int)(b >> 8 & 0xff);
    int blue = (int)(a & 0xff) - (int)(b & 0xff);
    return (uint32_t)(2 * red * red + 4 * green * green + 3 * blue * blue);
}

/* The nearest of the indices first…last. */
static int nearest(uint32_t rgb, int first, int last)
{
    int best = first;
    for (int index = first; index <= last; index++)
        if (distance(rgb, palette_rgb(index)) < distance(rgb, palette_rgb(best)))
            best = index;
    return best;
}

static int nearest_step(uint32_t value)
{
    int best = 0;
    for (int i = 1; i < 6; i++)
        if (abs((int)value - steps[i]) < abs((int)value - steps[best]))
            best = i;
    return best;
}

/* The nearest of 16–255: the cube's is found by its sides, only the grays are looked through. */
static int nearest_256(uint32_t rgb)
{
    int cube =
        16 + 36 * nearest_step(rgb >> 16) + 6 * nearest_step(rgb >> 8 & 0xff) + nearest_step(rgb & 0xff);
    int gray = nearest(rgb, 232, 255);
    return distance(rgb, palette_rgb(gray)) < distance(rgb, palette_rgb(cube)) ? gray : cube;
}

int palette_color(uint32_t color, int colors)
{
    uint32_t value = COLOR_VALUE(color);
    bool index = COLOR_KIND(color) == COLOR_INDEX, direct = COLOR_KIND(color) == COLOR_RGB;
    if (colors < 8 || (!index && !direct))
        return -1;
    if (index) {
        value &= 0xff;
        if (colors >= 256 || value < 16)
            return (int)value;
        return nearest(palette_rgb((int)value), 0, 15);
    }
    if (colors >= PALETTE_DIRECT)
        return value < 256 ? (int)value + 256 : (int)value;
    return colors >= 256 ? nearest_256(value) : nearest(value, 0, 15);
}
