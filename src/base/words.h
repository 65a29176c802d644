/* words.h: what a person reads, in the person's language. Sources and tables hold English; it is looked up
 * where it is drawn or printed, never before, and never compared. Always English: JSON and its names, formats,
 * the journal, logs, what hutchd sends. */
#ifndef HUTCH_BASE_WORDS_H
#define HUTCH_BASE_WORDS_H

#include <libintl.h>

/* Takes the person's locale and finds the catalogue: in $HUTCH_LOCALEDIR, else in po/locale beside the running
 * program (a build tree), else where it was installed. Only a UTF-8 locale has translations. A UTF-8
 * locale that this host does not have is C.UTF-8, in its language if the C library lets it. Call once, before
 * threads. */
void words_begin(void);
/* The translation of a message, or the message itself; "" and NULL are returned as they are. Static, safe to
 * keep. */
const char *words_find(const char *english) __attribute__((format_arg(1)));

/* _: the translation. N_: only marks a message for the catalogue (po/extract.sh), in a table that is
 * translated when it is shown. For numbers: ngettext(). */
#define _(english)  words_find(english)
#define N_(english) english

#endif
