/* form.h: the form of a new project. Nothing is made before Enter on its button. */
#ifndef HUTCH_UI_FORM_H
#define HUTCH_UI_FORM_H

#include "ui/model/input.h"
#include "ui/model/message.h"

#include <stdint.h>

#define FORM_REPOS 8

struct app;

enum form_field {
    FORM_NAME,
    FORM_TEMPLATE,
    FORM_CPUS,
    FORM_MEMORY,
    FORM_DISK,
    FORM_EGRESS, /* how it reaches the internet */
    FORM_REPO,   /* the first of FORM_REPOS */
    FORM_BUTTON = FORM_REPO + FORM_REPOS,
    FORM_NONE
};
struct form {
    bool filled; /* the proposal was put in; what is typed stays until a project was made of it */
    struct input inputs[FORM_BUTTON];
    enum form_field field;       /* that has the cursor */
    enum form_field error_field; /* that `error` stands at; FORM_NONE: there is none */
    char *error;                 /* safe */
    uint64_t work;               /* of what was asked for, 0: nothing was */
};

void form_finish(struct form *form);
/* Whether a field is there to be seen: repositories up to the first empty one. */
bool form_shows(const struct form *form, enum form_field field);
/* Whether a field has a few values to choose from, and no text to type. */
bool form_chooses(enum form_field field);
const char *form_label(enum form_field field);
/* What hutchd takes where a field is left empty; NULL: nothing, or it is not known. Caller frees. */
char *form_default(const struct app *app, enum form_field field);
/* What a field means. Caller frees. */
char *form_help(const struct app *app, enum form_field field);

#endif
