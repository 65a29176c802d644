/* Stands in for the terminal pane until it is there. */
#include "ui/model/terminal.h"

#include "ui/view/terminal.h"
struct terminal *terminal_create(const struct terminal_options *o)
{
    (void)o;
    return NULL;
}
void terminal_free(struct terminal *t)
{
    (void)t;
}
void terminal_attach(struct terminal *t, struct effects *e)
{
    (void)t;
    (void)e;
}
void terminal_detach(struct terminal *t, struct effects *e)
{
    (void)t;
    (void)e;
}
bool terminal_update(struct terminal *t, const struct message *m, struct effects *e)
{
    (void)t;
    (void)e;
    (void)m;
    return false;
}
enum terminal_ask terminal_asked(struct terminal *t)
{
    (void)t;
    return 0;
}
void terminal_resize(struct terminal *t, int r, int c, struct effects *e)
{
    (void)t;
    (void)e;
    (void)r;
    (void)c;
}
void terminal_focus(struct terminal *t, bool f, struct effects *e)
{
    (void)t;
    (void)e;
    (void)f;
}
int terminal_exit_status(const struct terminal *t)
{
    (void)t;
    return 0;
}
bool terminal_ticks(const struct terminal *t)
{
    (void)t;
    return 0;
}
bool terminal_changed(struct terminal *t)
{
    (void)t;
    return 0;
}
void terminal_draw(const struct terminal *t, struct area a, const struct terminal_facts *f, bool b)
{
    (void)t;
    (void)a;
    (void)f;
    (void)b;
}
