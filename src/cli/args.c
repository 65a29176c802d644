#include "cli/args.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

/* Reports a usage error with the verb's synopsis as the way out. */
static int usage(const struct verb *verb, struct error **err)
{
    return error_hint(err, _("usage: hutch %s%s%s"), verb->name, *verb->synopsis ? " " : "", verb->synopsis);
}

/* The option of a long name (len bytes), or NULL. */
static const struct option_spec *find_long(const struct verb *verb, const char *name, size_t len)
{
    for (const struct option_spec *spec = verb->options; spec && spec->name; spec++) {
        if (strlen(spec->name) == len && strncmp(spec->name, name, len) == 0)
            return spec;
    }
    return NULL;
}

static const struct option_spec *find_letter(const struct verb *verb, char letter)
{
    for (const struct option_spec *spec = verb->options; spec && spec->name; spec++) {
        if (spec->letter == letter)
            return spec;
    }
    return NULL;
}

/* Says that a long option does not exist, and which one is near. */
static int unknown_long(const struct verb *verb, const char *name, size_t len, struct error **err)
{
    const char *candidates[32];
    size_t n = 0;
    for (const struct option_spec *spec = verb->options; spec && spec->name && n < countof(candidates) - 2;
         spec++)
        candidates[n++] = spec->name;
    candidates[n++] = "help";
    candidates[n] = NULL;
    autofree char *copy = xstrndup(name, len);
    autofree char *safe = text_safe(copy);
    const char *nearest = text_nearest(copy, candidates);
    error_set(err, ERROR_USAGE, _("\"hutch %s\" has no option \"--%s\""), verb->name, safe);
    if (nearest)
        return error_hint(err, _("did you mean: --%s"), nearest);
    return usage(verb, err);
}

/* Records one option; a second one of a kind that comes once is an error. */
static int add_option(struct args *args, const struct option_spec *spec, const char *value,
                      struct error **err)
{
    if (!spec->many && args_has(args, spec->name)) {
        error_set(err, ERROR_USAGE, _("\"--%s\" is given twice"), spec->name);
        return usage(args->verb, err);
    }
    args->options[args->option_count++] = (struct args_option){.spec = spec, .value = value};
    return 0;
}

/* "--name", "--name=value", "--name value". *i moves over a value that is a word of its own. */
static int parse_long(struct args *args, int end, char *const *argv, int *i, struct error **err)
{
    const char *name = argv[*i] + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] == '=' ? name + len + 1 : NULL;
    const struct option_spec *spec = find_long(args->verb, name, len);
    if (!spec)
        return unknown_long(args->verb, name, len, err);
    if (!spec->value && value) {
        error_set(err, ERROR_USAGE, _("\"--%s\" takes no value"), spec->name);
        return usage(args->verb, err);
    }
    if (spec->value && !value) {
        if (*i + 1 >= end) {
            error_set(err, ERROR_USAGE, _("\"--%s\" needs a value: %s"), spec->name, spec->value);
            return usage(args->verb, err);
        }
        value = argv[++*i];
    }
    return add_option(args, spec, value, err);
}

/* "-t", "-tu USER", "-uUSER". */
static int parse_letters(struct args *args, int end, char *const *argv, int *i, struct error **err)
{
    const char *letters = argv[*i] + 1;
    for (; *letters; letters++) {
        const struct option_spec *spec = find_letter(args->verb, *letters);
        if (!spec) {
            autofree char *copy = xstrndup(letters, 1);
            autofree char *safe = text_safe(copy);
            error_set(err, ERROR_USAGE, _("\"hutch %s\" has no option \"-%s\""), args->verb->name, safe);
            return usage(args->verb, err);
        }
        const char *value = NULL;
        if (spec->value) {
            value = letters[1] ? letters + 1 : (*i + 1 < end ? argv[++*i] : NULL);
            if (!value) {
                error_set(err, ERROR_USAGE, _("\"-%c\" needs a value: %s"), spec->letter, spec->value);
                return usage(args->verb, err);
            }
        }
        int rc = add_option(args, spec, value, err);
        if (rc < 0 || value)
            return rc;
    }
    return 0;
}

/* Checks the number of words. */
static int check_words(const struct args *args, struct error **err)
{
    const struct verb *verb = args->verb;
    if (args->word_count < (size_t)verb->min_args) {
        error_set(err, ERROR_USAGE, _("\"hutch %s\" needs more arguments"), verb->name);
        return usage(verb, err);
    }
    if (verb->max_args >= 0 && args->word_count > (size_t)verb->max_args) {
        autofree char *safe = text_safe(args->words[verb->max_args]);
        error_set(err, ERROR_USAGE, _("\"hutch %s\" does not take \"%s\""), verb->name, safe);
        return usage(verb, err);
    }
    return 0;
}

/* Says that the command is missing: before any option, because those behind it are meant for the command. */
static int needs_command(const struct verb *verb, struct error **err)
{
    error_set(err, ERROR_USAGE, _("\"hutch %s\" needs the command behind \"--\""), verb->name);
    return usage(verb, err);
}

static bool wants_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Reads everything up to "--" or the end. */
static int parse_all(struct args *args, int argc, char *const *argv, struct error **err)
{
    int end = 0;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    if (args->verb->command && end + 1 < argc)
        args->command = (const char *const *)argv + end + 1;
    for (int i = 0; i < end && !args->help; i++)
        args->help = wants_help(argv[i]);
    if (args->help)
        return 0;
    if (args->verb->command && !args->command)
        return needs_command(args->verb, err);
    for (int i = 0; i < argc; i++) {
        int rc = 0;
        if (strcmp(argv[i], "--") == 0) {
            while (!args->verb->command && ++i < argc)
                args->words[args->word_count++] = argv[i];
            break;
        }
        if (strncmp(argv[i], "--", 2) == 0)
            rc = parse_long(args, end, argv, &i, err);
        else if (argv[i][0] == '-' && argv[i][1])
            rc = parse_letters(args, end, argv, &i, err);
        else
            args->words[args->word_count++] = argv[i];
        if (rc < 0)
            return rc;
    }
    return check_words(args, err);
}

int args_parse(const struct verb *verb, int argc, char *const *argv, struct args *ret_args,
               struct error **err)
{
    size_t letters = 0;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        letters += argv[i][0] == '-' ? strlen(argv[i]) : 1;
    if (letters > ARGS_MAX * 16 || (argc > ARGS_MAX && !verb->command))
        return error_set(err, ERROR_USAGE, _("more than %d arguments"), ARGS_MAX);
    struct args args = {
        .verb = verb,
        .words = xnewn(const char *, (size_t)argc + 1),
        .options = xnewn(struct args_option, letters + 1),
    };
    int rc = parse_all(&args, argc, argv, err);
    if (rc < 0) {
        args_finish(&args);
        return rc;
    }
    *ret_args = args;
    return 0;
}

void args_finish(struct args *args)
{
    free(args->words);
    free(args->options);
    args->words = NULL;
    args->options = NULL;
}

const char *args_nth(const struct args *args, const char *name, size_t i)
{
    require(find_long(args->verb, name, strlen(name)));
    for (size_t n = 0; n < args->option_count; n++) {
        if (strcmp(args->options[n].spec->name, name) == 0 && i-- == 0)
            return args->options[n].value;
    }
    return NULL;
}

const char *args_value(const struct args *args, const char *name)
{
    return args_nth(args, name, 0);
}

bool args_has(const struct args *args, const char *name)
{
    require(find_long(args->verb, name, strlen(name)));
    for (size_t n = 0; n < args->option_count; n++) {
        if (strcmp(args->options[n].spec->name, name) == 0)
            return true;
    }
    return false;
}

const char *args_word(const struct args *args, size_t i)
{
    return i < args->word_count ? args->words[i] : NULL;
}
