/* status.h: text with fields, for a prompt or a status bar. */
#ifndef HUTCH_CLI_STATUS_H
#define HUTCH_CLI_STATUS_H

#include "base/error.h"

#include <jansson.h>

/* Fills "%{field}" and "%{field.field}" of a format from an object; "%%" is a percent sign, all else stands
 * for itself. An object in place of a value is its "name". All values are made safe. ERROR_USAGE names a
 * field that is not there. Caller frees. */
int status_format(const char *format, const json_t *object, char **ret_text, struct error **err);

#endif
