/* prompt.h: draws the prompt of a request, and tells the model what of it was on the screen. */
#ifndef HUTCH_UI_VIEW_PROMPT_H
#define HUTCH_UI_VIEW_PROMPT_H

#include "ui/model/app_state.h"

void paint_prompt(struct app *app, struct area area);
/* Lines of it that are below what is shown. */
int prompt_below(const struct app *app);

#endif
