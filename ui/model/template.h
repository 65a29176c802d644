/* template.h: the templates as hutchd lists them, as safe text. */
#ifndef HUTCH_UI_TEMPLATE_H
#define HUTCH_UI_TEMPLATE_H

#include "ui/model/effect.h"

#define TEMPLATES_MAX 200

struct app;

struct template_row {
    uint64_t number; /* identity: never 0, never given twice */
    char *raw_name, *name, *about, *failure, *kernel;
    bool built, seen;
    int64_t size, disk_min, built_ns;
    size_t projects; /* that stand on its base */
    json_t *json;    /* the answer, for the detail; text in it is not safe yet */
};
/* Zeroed it is empty. */
struct templates {
    struct template_row *list;
    size_t count;
    uint64_t last, call; /* call: the list that is out, 0: none */
    bool known;
    char *failure; /* why they are not known */
};

void templates_finish(struct templates *templates);
/* Asks for them anew; they stay as they are until the answer is there. */
void templates_ask(struct app *app, struct effects *effects);
struct template_row *templates_find(const struct templates *templates, uint64_t number);
struct template_row *templates_named(const struct templates *templates, const char *raw_name);

#endif
