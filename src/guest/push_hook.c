#include "guest/push_hook.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "guest/host_ask.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REF_SHOWN      200
#define REF_NAMED      180 /* bytes of a name that the host takes: it adds its own part */
#define REFS_MAX       64
#define LINE_MAX_BYTES 1024
#define TOLD_S         900
#define WORDS_SHOWN    400

char *push_hook_folder(const char *state)
{
    return file_join(state, "hooks");
}

void push_hook_link(const struct place *place)
{
    static const char *const names[] = {"update", "post-receive"};
    autofree char *folder = push_hook_folder(place->state);

    if (file_make_folder(folder, 0755, NULL))
        return;
    for (size_t i = 0; i < countof(names); i++) {
        autofree char *link = file_join(folder, names[i]);
        if (symlink(place->program, link))
            continue; /* there already, or a root that cannot be written yet */
    }
}

/* ---- update ---- */

static bool name_ok(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._/-", name[i]))
            return false;
    return len <= REF_NAMED;
}

int push_hook_update(int argc, char **argv)
{
    struct text safe;
    const char *why = NULL;

    if (argc != 4)
        return 1;
    bool branch = !strncmp(argv[1], "refs/heads/", 11), tag = !strncmp(argv[1], "refs/tags/", 10);
    if (!branch && !tag)
        why = "is neither a branch nor a tag; only these are reviewed";
    else if (!name_ok(argv[1]))
        why = "has a name that the review cannot take: letters, digits, '.', '_', '/' and '-', at most 180";
    else if (strspn(argv[3], "0") == strlen(argv[3]))
        why = "stays: a person reviews what was pushed, and deletes it there; push another branch instead";
    if (!why)
        return 0;
    text_init(&safe, argv[1], strlen(argv[1]), REF_SHOWN, TEXT_DEFAULT);
    fprintf(stderr, "hutch: '%s' %s\n", safe.bytes, why);
    text_finish(&safe);
    return 1;
}

/* ---- post-receive ---- */

/* The repository's name, from where git runs its hooks: in it. */
static char *repository_name(void)
{
    char path[PATH_MAX];

    if (!getcwd(path, sizeof(path)))
        return NULL;
    const char *slash = strrchr(path, '/');
    size_t len = strlen(slash + 1);
    return len > 4 && !strcmp(slash + 1 + len - 4, ".git") ? xstrndup(slash + 1, len - 4) : NULL;
}

static void say(const char *format, const char *first, const char *second)
{
    struct text a, b;

    text_init(&a, first, strlen(first), WORDS_SHOWN, TEXT_DEFAULT);
    text_init(&b, second, strlen(second), WORDS_SHOWN, TEXT_DEFAULT);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    printf(format, a.bytes, b.bytes);
#pragma GCC diagnostic pop
    text_finish(&a);
    text_finish(&b);
}

/* What the host says of one ref that was pushed. */
static void say_push(const json_t *body, const char *ref)
{
    const json_t *push;
    size_t i;

    json_array_foreach(json_object_get(body, "pushes"), i, push)
    {
        long long id = (long long)json_integer_value(json_object_get(push, "request"));
        autofree char *number = xasprintf("#%lld", id);
        if (strcmp(host_ask_word(push, "ref", ""), ref) != 0)
            continue;
        if (id)
            say("hutch has it, waiting for review as %s (%s)\n", number, ref);
        else
            say("hutch has %s: %s\n", ref, host_ask_word(push, "words", ""));
        long long before = (long long)json_integer_value(json_object_get(push, "before"));
        autofree char *earlier = xasprintf("#%lld", before);
        if (before && before != id)
            say("  %s was rejected: %s\n", earlier, host_ask_word(push, "reason", ""));
        return;
    }
    json_array_foreach(json_object_get(body, "skips"), i, push)
    {
        if (strcmp(host_ask_word(push, "name", ""), ref) != 0)
            continue;
        say("hutch did not take %s: %s\n", ref, host_ask_word(push, "why", ""));
        return;
    }
    say("hutch has %s%s\n", ref, "");
}

/* The refs of "OLD NEW REF" lines. */
static size_t read_refs(char *refs[REFS_MAX])
{
    char line[LINE_MAX_BYTES];
    size_t count = 0;

    while (fgets(line, sizeof(line), stdin)) {
        const char *space = strrchr(line, ' ');
        line[strcspn(line, "\n")] = '\0';
        if (space && count < REFS_MAX)
            refs[count++] = xstrdup(space + 1);
    }
    return count;
}

int push_hook_told(int argc, char **argv)
{
    autofree char *name = repository_name();
    auto(error) struct error *err = NULL;
    auto(json) json_t *body = NULL;
    char *refs[REFS_MAX];
    size_t count = read_refs(refs); /* the host sees for itself what changed */
    int status = 0;

    (void)argv;
    autofree char *host = xasprintf("%s.push.hutch.internal", name ? name : "");
    if (argc != 1 || !name)
        printf("hutch knows no repository here\n");
    else if (host_ask(host, TOLD_S, &status, &body, &err))
        say("hutch could not be told (%s); it stays here and is fetched with the next push%s\n", err->message,
            "");
    else if (status == 200 && json_is_string(json_object_get(body, "error")))
        say("hutch could not fetch it (%s); it stays here and is fetched with the next push%s\n",
            host_ask_word(body, "error", ""), "");
    else if (status == 200 && body)
        for (size_t i = 0; i < count; i++)
            say_push(body, refs[i]);
    else
        say("hutch could not be told (%s); it stays here and is fetched with the next push%s\n",
            host_ask_word(body, "reason", "the host does not answer"), "");
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        free(refs[i]);
    return 0;
}
