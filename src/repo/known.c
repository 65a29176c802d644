#include "repo/known.h"

#include "base/alloc.h"
#include "base/file.h"
#include "repo/git.h"
#include "repo/land.h"

#include <string.h>

#define NOTES_MAX 65536 /* bytes */

static char *notes_path(const char *quarantine)
{
    return file_join(quarantine, "hutch-landed");
}

/* The paths that were noted, one a line; "" when there are none. Caller frees. */
static char *read_notes(const char *quarantine)
{
    autofree char *path = notes_path(quarantine);
    char *text = NULL;

    return file_read(path, NOTES_MAX, &text, NULL, NULL) < 0 ? xstrdup("") : text;
}

void known_init(struct known *known, const char *quarantine)
{
    autofree char *notes = read_notes(quarantine);
    char *rest = notes;

    *known = (struct known){.quarantine = xstrdup(quarantine)};
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        if (*line == '/')
            known_add(known, line);
}

void known_finish(struct known *known)
{
    free(known->quarantine);
    for (size_t i = 0; i < known->count; i++)
        free(known->repositories[i]);
    *known = (struct known){0};
}

void known_add(struct known *known, const char *repository)
{
    if (!repository || known->count == KNOWN_REPOSITORIES_MAX)
        return;
    for (size_t i = 0; i < known->count; i++)
        if (!strcmp(known->repositories[i], repository))
            return;
    known->repositories[known->count++] = xstrdup(repository);
}

bool known_has(const struct known *known, const char *commit)
{
    const char *args[] = {"rev-list", "--max-count=1", commit, "--not", "--alternate-refs", NULL};
    autofree char *out = NULL;

    if (git_own(known->quarantine, args, NULL, &out, NULL) < 0)
        return false;
    if (!*out)
        return true;
    for (size_t i = 0; i < known->count; i++)
        if (land_contains(known->repositories[i], commit))
            return true;
    return false;
}

int64_t known_count_new(const struct known *known, const char *commit)
{
    const char *args[] = {"rev-list", "--count", commit, "--not", "--alternate-refs", NULL};
    autofree char *out = NULL;

    return git_own(known->quarantine, args, NULL, &out, NULL) < 0 ? -1 : (int64_t)strtoll(out, NULL, 10);
}

int known_note(const char *quarantine, const char *repository, struct error **err)
{
    autofree char *path = notes_path(quarantine), *notes = read_notes(quarantine);
    autofree char *line = xasprintf("%s\n", repository);
    const char *there = strstr(notes, line);

    if (there && (there == notes || there[-1] == '\n'))
        return 0;
    if (strchr(repository, '\n') || strlen(notes) + strlen(line) >= NOTES_MAX)
        return 0; /* it counts as landed nowhere, then: nothing is given up for it */
    autofree char *all = xasprintf("%s%s", notes, line);
    return file_replace(path, all, strlen(all), 0600, err);
}
