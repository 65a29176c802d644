#include "cli/verb.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

const struct verb *const verb_table[] = {
#define X(name) &verb_##name,
#include "cli/verbs.def"
#undef X
    NULL,
};

#define VERB_WORDS_MAX 2

/* Length of the first word of a verb's name. */
static size_t first_word(const char *name)
{
    return strcspn(name, " ");
}

/* Whether word is the noun of a collection ("template"). */
static bool is_noun(const char *word)
{
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        size_t len = first_word((*verb)->name);
        if ((*verb)->name[len] == ' ' && strlen(word) == len && strncmp((*verb)->name, word, len) == 0)
            return true;
    }
    return false;
}

/* The verbs of a collection as "ls, show, build"; caller frees. */
static char *verbs_of(const char *noun)
{
    char *list = xstrdup("");
    size_t len = strlen(noun);
    for (const struct verb *const *verb = verb_table; *verb; verb++) {
        if (strncmp((*verb)->name, noun, len) != 0 || (*verb)->name[len] != ' ')
            continue;
        char *longer = xasprintf("%s%s%s", list, *list ? ", " : "", (*verb)->name + len + 1);
        free(list);
        list = longer;
    }
    return list;
}

/* Says that there is no such verb, and which one is near. */
static int unknown(const char *name, struct error **err)
{
    const char *candidates[64];
    size_t n = 0;
    for (const struct verb *const *verb = verb_table; *verb && n < countof(candidates) - 1; verb++)
        candidates[n++] = (*verb)->name;
    candidates[n] = NULL;
    autofree char *safe = text_safe(name);
    const char *nearest = text_nearest(name, candidates);
    error_set(err, ERROR_USAGE, _("there is no verb \"%s\""), safe);
    if (nearest)
        return error_hint(err, _("did you mean: hutch %s"), nearest);
    return error_hint(err, _("all verbs: hutch help"));
}

/* The verb of exactly this name, or NULL. */
static const struct verb *find_name(const char *name)
{
    for (const struct verb *const *verb = verb_table; *verb; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}

int verb_find(int argc, char *const *argv, const struct verb **ret_verb, int *ret_words, struct error **err)
{
    require(argc > 0);
    bool noun = is_noun(argv[0]);
    const struct verb *plain = noun ? find_name(argv[0]) : NULL;
    if (plain) { /* a verb of its own too ("snapshot"): the next word tells */
        autofree char *longer = argc < VERB_WORDS_MAX ? NULL : xasprintf("%s %s", argv[0], argv[1]);
        noun = longer && find_name(longer);
    }
    if (noun && (argc < VERB_WORDS_MAX || argv[1][0] == '-')) {
        autofree char *list = verbs_of(argv[0]);
        error_set(err, ERROR_USAGE, _("\"hutch %s\" needs a verb"), argv[0]);
        return error_hint(err, _("one of: %s"), list);
    }
    autofree char *name = noun ? xasprintf("%s %s", argv[0], argv[1]) : xstrdup(argv[0]);
    const struct verb *verb = find_name(name);
    if (!verb)
        return unknown(name, err);
    *ret_words = noun ? VERB_WORDS_MAX : 1;
    *ret_verb = verb;
    return 0;
}

int verb_exit(const struct verb *verb, const struct error *err)
{
    if (verb && verb->status_125)
        return 125;
    return error_code_exit(err ? err->code : ERROR_FAILED);
}
