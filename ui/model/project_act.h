/* project_act.h: what can be done to a project, as a table: which call, in which states, what is said before
 * and after. The callbacks are those of struct view. */
#ifndef HUTCH_UI_PROJECT_ACT_H
#define HUTCH_UI_PROJECT_ACT_H

#include "ui/model/view.h"

const char *project_able(const struct app *app, uint64_t number, enum action action);
void project_words(const struct app *app, uint64_t number, enum action action, struct act_words *out);
bool project_act(struct app *app, uint64_t number, enum action action, struct effects *effects);
char *project_twin(const struct app *app, uint64_t number, enum action action);

#endif
