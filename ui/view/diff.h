/* diff.h: a push, and what differs in it, unified or side by side. Only rows that are seen are looked at. */
#ifndef HUTCH_UI_VIEW_DIFF_H
#define HUTCH_UI_VIEW_DIFF_H

#include "ui/model/app_state.h"

void paint_push(const struct app *app, struct area area, bool focused);
void paint_diff(const struct app *app, struct area area, bool focused);

#endif
