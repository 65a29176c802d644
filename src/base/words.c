#include "base/words.h"

#include "base/alloc.h"
#include "base/file.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOMAIN "hutch"

/* po/locale beside the running program, NULL if there is none. */
static char *built(void)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(exe, '/');
    if (!slash)
        return NULL;
    autofree char *folder = xasprintf("%.*s/po/locale", (int)(slash - exe), exe);
    return file_exists(folder) ? steal(&folder) : NULL;
}

/* The name of the locale that is wanted for messages; NULL: none. */
static const char *wanted(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (size_t i = 0; i < countof(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return value;
    }
    return NULL;
}

/* Whether a locale's name says UTF-8; what another one shows would be rubbish. */
static bool says_utf8(const char *locale)
{
    const char *codeset = strchr(locale, '.');
    return codeset && (strncasecmp(codeset, ".UTF-8", 6) == 0 || strncasecmp(codeset, ".utf8", 5) == 0);
}

/* The person's locale, or C.UTF-8 in its place: the screen shows all characters then. */
static void take_locale(void)
{
    const char *locale = wanted();
    if (setlocale(LC_ALL, "") || !locale || !says_utf8(locale) || !setlocale(LC_ALL, "C.UTF-8"))
        return;
    autofree char *language = xstrndup(locale, strcspn(locale, ".@"));
    setenv("LANGUAGE", language, 0);
}

void words_begin(void)
{
    const char *given = getenv("HUTCH_LOCALEDIR");
    autofree char *beside = given && *given ? NULL : built();
    take_locale();
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        return;
    bindtextdomain(DOMAIN, given && *given ? given : beside ? beside : HUTCH_LOCALEDIR);
    bind_textdomain_codeset(DOMAIN, "UTF-8");
    textdomain(DOMAIN);
}

const char *words_find(const char *english)
{
    return english && *english ? gettext(english) : english; /* of "" gettext has the catalogue's head */
}
