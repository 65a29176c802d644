/* args.h: a verb's command line, read by the verb's own table. Options may stand before and after words; "--"
 * ends them. */
#ifndef HUTCH_CLI_ARGS_H
#define HUTCH_CLI_ARGS_H

#include "cli/verb.h"

#define ARGS_MAX 4096 /* words and options of one command line, the command behind "--" not counted */

struct args_option {
    const struct option_spec *spec;
    const char *value; /* NULL for a flag */
};

/* What was given. Strings belong to argv. */
struct args {
    const struct verb *verb;
    const char **words;
    size_t word_count;
    struct args_option *options;
    size_t option_count;
    const char *const
        *command; /* behind "--", NULL-ended, at least one word; NULL when the verb takes none */
    bool help;    /* --help: nothing else was checked */
};

/* Reads argv (without the program and the verb). ERROR_USAGE names what is wrong, with the nearest option or
 * the synopsis. */
int args_parse(const struct verb *verb, int argc, char *const *argv, struct args *ret_args,
               struct error **err);
void args_finish(struct args *args);
/* Whether an option of the verb's table was given. The name must be in the table. */
bool args_has(const struct args *args, const char *name);
/* Value of an option, NULL when it was not given. */
const char *args_value(const struct args *args, const char *name);
/* The i-th value of an option that may come more than once, NULL behind the last. */
const char *args_nth(const struct args *args, const char *name, size_t i);
/* The i-th word, or NULL. */
const char *args_word(const struct args *args, size_t i);

#endif
