/* demo.h: the box of `hutch demo` below the screen. */
#ifndef HUTCH_UI_DEMO_DRAW_H
#define HUTCH_UI_DEMO_DRAW_H

#include "ui/grid/grid.h"

struct app;

/* Draws the words of the scene, the key that goes on and the one that leaves. */
void paint_demo(const struct app *app, struct area area);

#endif
