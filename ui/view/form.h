/* form.h: the form of a new project as cells. */
#ifndef HUTCH_UI_VIEW_FORM_H
#define HUTCH_UI_VIEW_FORM_H

#include "ui/grid/grid.h"
#include "ui/model/app_state.h"

/* Draws it into an area; where there is too little room, the part with the field that has the cursor. */
void paint_form(const struct app *app, struct area area, bool focused);

#endif
