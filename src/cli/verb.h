/* verb.h: the verbs of the command line as data. Each verb is one `const struct verb` in the file of its
 * family and one line of verbs.def; help, completion, the check against the man page and the names that no
 * project may have come from there. */
#ifndef HUTCH_CLI_VERB_H
#define HUTCH_CLI_VERB_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct args;

/* One option. A table of them ends with a NULL name. */
struct option_spec {
    const char *name;  /* "timeout", without dashes */
    char letter;       /* 't', or 0 */
    const char *value; /* placeholder of its value ("SEC"), NULL: a flag */
    const char *help;
    bool many; /* may be given more than once */
};

struct verb {
    const char *name;                  /* "up", or "template ls" of a collection */
    const char *synopsis;              /* its arguments and options, as in the man page */
    const char *help;                  /* one line */
    const struct option_spec *options; /* or NULL */
    int min_args, max_args;            /* of the words before "--"; max -1: any number */
    bool command;                      /* "-- CMD…" follows */
    bool status_125; /* every failure of hutch itself is 125: the other statuses are the command's own */
    /* Returns the exit status, or a negative code with *err. */
    int (*run)(const struct args *args, struct error **err);
};

#define X(name) extern const struct verb verb_##name;
#include "cli/verbs.def"
#undef X

/* All verbs in the order of the help; NULL-ended. */
extern const struct verb *const verb_table[];
/* The verb of argv (one or two words): *ret_words is how many words it took. ERROR_USAGE offers the nearest
 * one. */
int verb_find(int argc, char *const *argv, const struct verb **ret_verb, int *ret_words, struct error **err);
/* Exit status of a failure of this verb. */
int verb_exit(const struct verb *verb, const struct error *err);

#endif
