#include "policy/suffix.h"

#include "base/alloc.h"

#include <libpsl.h>
#include <string.h>

static const char *const known[] = {
#define X(suffix) suffix,
#include "policy/suffix.def"
#undef X
};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < countof(known); i++)
        if (!strcmp(name, known[i]))
            return true;
    return false;
}

bool suffix_is_public(const char *name)
{
    const psl_ctx_t *list = psl_builtin();
    return !list || is_known(name) || psl_is_public_suffix2(list, name, PSL_TYPE_ANY);
}

const char *suffix_of(const char *name)
{
    const char *suffix = name;
    while (!suffix_is_public(suffix)) {
        const char *dot = strchr(suffix, '.');
        if (!dot)
            break;
        suffix = dot + 1;
    }
    return suffix;
}

const char *suffix_registrable(const char *name)
{
    const char *suffix = suffix_of(name);
    if (suffix == name)
        return NULL;
    suffix--;
    while (suffix > name && suffix[-1] != '.')
        suffix--;
    return suffix;
}
