/* egress_internal.h: what presets and files of rules share. */
#ifndef HUTCH_CONF_EGRESS_INTERNAL_H
#define HUTCH_CONF_EGRESS_INTERNAL_H

#include "conf/egress.h"
#include "conf/ini.h"

/* Appends the items of [egress] allow, ask and deny. */
int egress_take_lines(const struct ini *ini, struct egress_line **ret_lines, size_t *ret_count,
                      struct error **err);
void egress_lines_free(struct egress_line *lines, size_t count);

#define EGRESS_TO_HINT "write 127.0.0.1:5432, [::1]:5432 or unix:/path (a path of at most 107 bytes)"
/* Whether a host port may lead there: loopback alone, as it is a port of this host, or a socket. *ret_port: 0
 * of a socket. */
bool egress_parse_to(const char *to, uint16_t *ret_port);

/* ---- editing ---- */
/* A line of the file as it stands: [start, end) without its newline. */
struct egress_text_line {
    size_t start, end, next;
};
/* The line at *pos, which moves on. false: there is none. */
bool egress_next_line(const char *data, size_t len, size_t *pos, struct egress_text_line *ret);
/* The file's text ("" if there is none and it need not be), and that it can be read. */
int egress_read_text(const char *path, enum key_kind kind, bool must, char **ret_data, size_t *ret_len,
                     struct ini **ret_ini, struct error **err);
/* Replaces the file if the new text can be read. */
int egress_write_text(const char *path, enum key_kind kind, const char *text, struct error **err);

#endif
