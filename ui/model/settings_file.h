/* settings_file.h: the lines of screen.ini, apart from what they mean. */
#ifndef HUTCH_UI_SETTINGS_FILE_H
#define HUTCH_UI_SETTINGS_FILE_H

#include "base/error.h"

struct setting_line {
    const char *section, *name, *key, *value; /* name: NULL or that of [keys NAME] */
    int line, column;
};
/* Calls for each key of the text; stops at the first negative answer and puts "screen.ini:LINE:COLUMN: "
 * before its error. */
int settings_file_read(const char *text, size_t len,
                       int (*each)(const struct setting_line *line, void *user, struct error **err),
                       void *user, struct error **err);

#endif
