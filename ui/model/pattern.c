/* What a filter or a search looks for. */
#include "ui/model/list.h"

#include "base/alloc.h"
#include "base/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_MAX    256
#define PATTERN_COPIES 1000 /* what {n,m} makes of a part, all of an expression multiplied */

void pattern_clear(struct pattern *pattern)
{
    if (pattern->on && !pattern->plain)
        regfree(&pattern->regex);
    free(pattern->text);
    *pattern = (struct pattern){0};
}

/* Whether a text has capitals: then they count. */
static bool has_capitals(const char *text)
{
    for (; *text; text++)
        if (isupper((unsigned char)*text))
            return true;
    return false;
}

/* The larger number of "{n,m}" at text, at least 1; what is none is 1. */
static unsigned long copies_of(const char *text)
{
    unsigned long most = 1;
    for (text++; isdigit((unsigned char)*text) || *text == ','; text++) {
        if (*text == ',')
            continue;
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        most = n > most ? n : most;
        text = end - 1;
    }
    return most;
}

/* The C library copies a part for each repetition, and tries every way of a back-reference: either can take
 * all memory or all time for a few characters. */
static int check_cost(const char *body, struct error **err)
{
    unsigned long copies = 1;
    for (const char *at = body; *at; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            if (*at >= '1' && *at <= '9')
                return error_set(err, ERROR_INVALID,
                                 _("\"%s\": \\%c, what a group found, cannot be used here"), body, *at);
        } else if (*at == '{') {
            unsigned long more = copies_of(at);
            if (more > PATTERN_COPIES || copies * more > PATTERN_COPIES)
                return error_set(err, ERROR_INVALID, _("\"%s\" repeats more than %d times"), body,
                                 PATTERN_COPIES);
            copies *= more;
        }
    }
    return 0;
}

int pattern_set(struct pattern *pattern, const char *text, bool inversion, struct error **err)
{
    struct pattern new = {.on = true};
    if (!*text) {
        pattern_clear(pattern);
        return 0;
    }
    if (strlen(text) > PATTERN_MAX)
        return error_set(err, ERROR_INVALID, _("the expression is longer than %d bytes"), PATTERN_MAX);
    const char *body = text;
    if (inversion && *body == '!') {
        new.inverted = true;
        body++;
    }
    if (!*body) { /* "!" alone, still being typed */
        pattern_clear(pattern);
        pattern->text = xstrdup(text);
        return 0;
    }
    new.plain = !body[strcspn(body, ".*+?()[]{}|^$\\")];
    if (!new.plain) {
        int costs = check_cost(body, err);
        if (costs < 0)
            return costs;
        int rc = regcomp(&new.regex, body, REG_EXTENDED | (has_capitals(body) ? 0 : REG_ICASE));
        if (rc) {
            char words[120];
            regerror(rc, &new.regex, words, sizeof(words));
            return error_set(err, ERROR_INVALID, _("\"%s\" is no regular expression: %s"), body, words);
        }
    }
    new.text = xstrdup(text);
    pattern_clear(pattern);
    *pattern = new;
    return 0;
}

bool pattern_find(const struct pattern *pattern, const char *text, size_t *ret_start, size_t *ret_end)
{
    if (!pattern->on)
        return false;
    if (pattern->plain) {
        const char *word = pattern->text + (pattern->inverted ? 1 : 0);
        const char *at = has_capitals(word) ? strstr(text, word) : strcasestr(text, word);
        if (!at)
            return false;
        *ret_start = (size_t)(at - text);
        *ret_end = *ret_start + strlen(word);
        return true;
    }
    regmatch_t match;
    if (regexec(&pattern->regex, text, 1, &match, 0) != 0)
        return false;
    *ret_start = (size_t)match.rm_so;
    *ret_end = (size_t)match.rm_eo;
    return true;
}
