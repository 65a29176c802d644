/* osc.h: strings for the terminal itself: title, clipboard, notification. Only what is written by us goes
 * out: control characters and what turns the direction of writing are left out of every text. Pure. */
#ifndef HUTCH_UI_TERM_OSC_H
#define HUTCH_UI_TERM_OSC_H

#include "base/buf.h"

#define OSC_TEXT_MAX   256 /* bytes of a title or notification */
#define OSC_TITLE_PUSH "\x1b[22;0t"
#define OSC_TITLE_POP  "\x1b[23;0t"

enum osc_notify { OSC_9, OSC_777 };

void osc_title(const char *safe, bool utf8, struct buf *out);
/* The clipboard. Inside of tmux it goes out twice: tmux drops a program's own unless set-clipboard is on, and
 * takes it through only where allow-passthrough is. */
void osc_copy(const char *bytes, size_t len, bool tmux, struct buf *out);
void osc_notify(const char *safe, enum osc_notify kind, bool tmux, bool utf8, struct buf *out);

#endif
