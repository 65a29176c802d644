/* draw.h: the whole screen as cells. */
#ifndef HUTCH_UI_DRAW_H
#define HUTCH_UI_DRAW_H

#include "ui/grid/grid.h"
#include "ui/model/app.h"

/* Draws the app as it is now; the grid gets the app's size. app_changed is false after it. */
void app_draw(struct app *app, struct grid *grid);

#endif
