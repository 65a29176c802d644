/* egress_internal.h: what presets and files of rules share. */
#ifndef HUTCH_CONF_EGRESS_INTERNAL_H
#define HUTCH_CONF_EGRESS_INTERNAL_H

#include "conf/egress.h"
#include "conf/ini.h"

/* Appends the items of [egress] allow, ask and deny. */
int egress_take_lines(const struct ini *ini, struct egress_line **ret_lines, size_t *ret_count,
                      struct error **err);
void egress_lines_free(struct egress_line *lines, size_t count);

#endif
