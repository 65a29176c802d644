/* keys.h: the table of keys.def: which keys a kind of file may have, and of which type. */
#ifndef HUTCH_CONF_KEYS_H
#define HUTCH_CONF_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key_kind { KEY_TEMPLATE, KEY_USER, KEY_BASE, KEY_PROJECT, KEY_RULES, KEY_PRESET };

enum key_type {
    KEY_WORD,   /* [A-Za-z0-9._+:~-]+ */
    KEY_LINE,   /* anything on one line */
    KEY_LIST,   /* one item an indented line */
    KEY_SIZE,   /* 512M, 64G */
    KEY_NUMBER, /* decimal */
    KEY_URI,    /* http://… or https://…, or none */
};

struct key {
    enum key_kind kind;
    const char *section;
    bool named; /* [section NAME] */
    const char *key;
    enum key_type type;
    const char *fallback, *when, *who, *help;
};

/* All keys, in the order of keys.def. */
extern const struct key key_table[];
extern const size_t key_count;

/* The key of a kind of file, or NULL. */
const struct key *key_find(enum key_kind kind, const char *section, const char *key);
/* Any key of a section (it says whether the section takes a name), or NULL for an unknown section. */
const struct key *key_section(enum key_kind kind, const char *section);
/* The nearest section (section NULL) or key of a section to what was written, or NULL. */
const char *key_nearest(enum key_kind kind, const char *section, const char *written);
/* "template", "configuration", "base", "project file", "rules file", "preset": for messages. */
const char *key_kind_name(enum key_kind kind);

#endif
