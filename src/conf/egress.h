/* egress.h: the rules of egress as they stand in INI files: projects/NAME.ini, rules.ini (of all projects),
 * presets/NAME.ini. Text and places only: what a rule means is policy's matter, and whoever compiles them
 * reports with the line and column that stand here. */
#ifndef HUTCH_CONF_EGRESS_H
#define HUTCH_CONF_EGRESS_H

#include "base/error.h"
#include "base/paths.h"
#include "conf/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EGRESS_RULES_MAX 10000 /* lines of one file */

enum egress_effect { EGRESS_ALLOW, EGRESS_ASK, EGRESS_DENY };

/* One item of a list. */
struct egress_line {
    enum egress_effect effect;
    char *item; /* as written: "docs.rs", "*.debian.org:80" */
    char *rule; /* with its effect in front: "allow docs.rs" */
    int line;   /* from 1 */
    int column; /* where rule would begin for item to stand where it stands: can be 0 or less */
};

/* A name with its place. */
struct egress_word {
    char *text;
    int line, column;
};

/* [host-port NAME]. */
struct egress_host_port {
    char *name;    /* NAME of NAME.hutch.internal */
    char *to;      /* "127.0.0.1:5432", "[::1]:5432" or "unix:/path" */
    uint16_t port; /* as the guest writes it: that of `to` unless said */
    int line;
};

struct egress_file {
    char *path;
    char *mode; /* `default`: "ask", "budget", "deny", "open"; NULL if it is not said */
    bool presets_said;
    struct egress_word *presets; /* names of presets */
    size_t preset_count;
    struct egress_word *removed; /* targets of "-TARGET": lines of presets that do not count */
    size_t removed_count;
    struct egress_line *lines;
    size_t line_count;
    struct egress_host_port *host_ports;
    size_t host_port_count;
};

/* Reads and checks a file's form (kind: KEY_PROJECT or KEY_RULES). ERROR_NOT_FOUND if there is none,
 * ERROR_INVALID with file, line and column. Nothing is half read. */
int egress_load(const char *path, enum key_kind kind, struct egress_file **ret_file, struct error **err);
void egress_free(struct egress_file *file);
AUTO_DEFINE(egress, struct egress_file *, egress_free);
const char *egress_effect_name(enum egress_effect effect);

/* A preset: a named set of lines that came with hutch or is the user's. */
struct preset {
    char *name, *path, *about;
    bool uploads_said, uploads; /* [preset] uploads: for the lines that do not say it themselves */
    bool from_guest; /* its lines are the hosts of the guest's own configuration; lines is empty then */
    bool user_file;
    struct egress_line *lines;
    size_t line_count;
};
/* NAME.ini of the user's presets folder, else of hutch's own. ERROR_NOT_FOUND offers the nearest names. */
int preset_load(const struct paths *paths, const char *name, struct preset **ret_preset, struct error **err);
void preset_free(struct preset *preset);
AUTO_DEFINE(preset, struct preset *, preset_free);
/* NULL-ended list of names, sorted, each once. names_free frees. */
char **preset_names(const struct paths *paths);

/* Adds an item to the list of its effect, makes list, section and file if there are none, and leaves every
 * other byte as it is. The file is replaced whole or not at all. ERROR_EXISTS if the very item stands there;
 * ERROR_INVALID if the file cannot be read before or after. */
int egress_add(const char *path, enum key_kind kind, enum egress_effect effect, const char *item,
               struct error **err);
/* Takes out the item that egress_load reported at this line, as written. ERROR_STATE if the line has another
 * content by now (read it again). */
int egress_remove(const char *path, enum key_kind kind, const struct egress_line *line, struct error **err);

/* Whether a host port can have this name and lead there. *port 0: that of `to`, which is set then; a socket
 * has none. ERROR_INVALID says what would do. */
int egress_host_port_check(const char *name, const char *to, uint16_t *port, struct error **err);
/* Writes [host-port NAME] behind all else in a project's file. port as above. ERROR_EXISTS if the name is
 * taken or another name leads there. */
int egress_host_port_add(const char *path, const char *name, const char *to, uint16_t port,
                         struct error **err);
/* Takes the section out; comments in it stay. ERROR_NOT_FOUND. */
int egress_host_port_remove(const char *path, const char *name, struct error **err);

#endif
