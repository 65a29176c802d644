#include "ui/model/view.h"

#include "base/alloc.h"

#include <string.h>

#define X(id, name) extern const struct view view_##name;
#include "ui/model/views.def"
#undef X

const struct view *const view_table[VIEW_COUNT] = {
#define X(id, name) [VIEW_##id] = &view_##name,
#include "ui/model/views.def"
#undef X
};

enum view_id view_tab(int number)
{
    for (int view = VIEW_NONE + 1; view < VIEW_COUNT; view++)
        if (view_table[view]->flags & VIEW_TAB && --number == 0)
            return (enum view_id)view;
    return VIEW_NONE;
}

int view_tab_number(enum view_id view)
{
    int number = 0;
    if (!(view_table[view]->flags & VIEW_TAB))
        return 0;
    for (int one = VIEW_NONE + 1; one <= (int)view; one++)
        number += view_table[one]->flags & VIEW_TAB ? 1 : 0;
    return number;
}

void view_maps(const struct view *view, enum keymap ret[4])
{
    int count = 0;
    if (view->map)
        ret[count++] = view->map;
    if (view->flags & VIEW_PROJECT)
        ret[count++] = KEYMAP_PROJECT;
    ret[count++] = KEYMAP_EVERYWHERE;
    ret[count] = KEYMAP_NONE;
}

bool view_key(const struct view *view, const struct bindings *bindings, enum action action, char ret[24])
{
    enum keymap maps[4];
    view_maps(view, maps);
    for (int i = 0; maps[i]; i++)
        if (bindings_key(bindings, maps[i], action, ret))
            return true;
    return false;
}

/* ---- documents ---- */

void doc_add(struct doc *doc, enum style style, const char *label, const char *text)
{
    doc->lines = xrealloc(doc->lines, doc->count + 1, sizeof(*doc->lines));
    doc->lines[doc->count++] = (struct doc_line){xstrdup(label), xstrdup(text), style};
}

void doc_addf(struct doc *doc, enum style style, const char *label, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *text = xvasprintf(format, args);
    va_end(args);
    doc_add(doc, style, label, text);
}

void doc_finish(struct doc *doc)
{
    for (size_t i = 0; i < doc->count; i++) {
        free(doc->lines[i].label);
        free(doc->lines[i].text);
    }
    free(doc->lines);
    *doc = (struct doc){0};
}
