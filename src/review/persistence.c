#include "review/persistence.h"

#include "base/alloc.h"

#include <ctype.h>
#include <string.h>

struct rule {
    const char *class;
    const char *pattern;
};
static const struct rule rules[] = {
#define X(class, pattern) {class, pattern},
#include "review/persistence.def"
#undef X
};

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Whether text[0..len) is what the pattern's part [0..plen) says; '*' never meets a slash, because the
 * pattern's slashes are compared as themselves. One star is remembered: the last, as is enough. */
static bool matches(const char *pattern, size_t plen, const char *text, size_t len)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = plen;
    size_t from = 0;

    while (t < len) {
        if (p < plen && pattern[p] == '*') {
            star = p++;
            from = t;
        } else if (p < plen && same_letter(pattern[p], text[t])) {
            p++;
            t++;
        } else if (star < plen && text[from] != '/') {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < plen && pattern[p] == '*')
        p++;
    return p == plen;
}

/* A pattern at one place of the path, where a part begins. */
static bool matches_here(const char *pattern, size_t plen, const char *place)
{
    if (pattern[plen - 1] != '/')
        return matches(pattern, plen, place, strlen(place));
    for (const char *slash = strchr(place, '/'); slash; slash = strchr(slash + 1, '/'))
        if (matches(pattern, plen - 1, place, (size_t)(slash - place)))
            return true;
    return matches(pattern, plen - 1, place, strlen(place)); /* a file or link in the folder's place */
}

static const char *next_part(const char *place)
{
    const char *slash = strchr(place, '/');
    return slash ? slash + 1 : NULL;
}

static bool rule_matches(const struct rule *rule, const char *path)
{
    if (rule->pattern[0] == '/')
        return matches_here(rule->pattern + 1, strlen(rule->pattern) - 1, path);
    for (const char *place = path; place; place = next_part(place))
        if (matches_here(rule->pattern, strlen(rule->pattern), place))
            return true;
    return false;
}

const char *persistence_class(const char *path)
{
    for (size_t i = 0; i < countof(rules); i++)
        if (rule_matches(&rules[i], path))
            return rules[i].class;
    return NULL;
}
