/* paint.h: the parts that screens are drawn of. */
#ifndef HUTCH_UI_PAINT_H
#define HUTCH_UI_PAINT_H

#include "ui/model/app_state.h"

/* Columns of safe text. */
int paint_width(const char *text);
/* A horizontal line: dashes, or line drawing where it works. */
void paint_rule(const struct app *app, struct area area, int row, int column, int columns);
void paint_upright(const struct app *app, struct area area, int row, int column);
/* Text over several lines, broken at blanks where that goes; from: lines to leave out at the top. Returns the
 * lines used, those left out included. */
int paint_wrapped(struct area area, int row, int rows, int column, int columns, enum style style,
                  const char *text);
/* "key label" for a bar; returns the columns used, 0 if it does not fit. */
int paint_key(struct area area, int row, int column, const char *key, const char *label);
/* The rows of a view's list with its header. */
void paint_list(const struct app *app, enum view_id view, struct area area, bool focused);

#endif
