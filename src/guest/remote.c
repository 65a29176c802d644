/* remote.c: git-remote-hutch, the remote helper of `hutch::NAME`: what fetch and push in a work tree speak to
 * is the bare repository NAME of this machine. */
#include "guest/remote.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "guest/host_ask.h"
#include "guest/place.h"
#include "guest/push_hook.h"
#include "guest/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 1024
#define REFRESH_S      60
#define WORDS_SHOWN    400

/* One line of git, byte by byte: what follows belongs to the program that we become. False at the end. */
static bool read_line(char line[LINE_MAX_BYTES])
{
    size_t n = 0;
    char c;

    while (read(0, &c, 1) == 1) {
        if (c == '\n') {
            line[n] = '\0';
            return true;
        }
        if (n + 1 >= LINE_MAX_BYTES)
            return false;
        line[n++] = c;
    }
    return false;
}

/* Objects that root would leave in a user's repository would lock that user out. */
static int become_owner(const char *repository, struct error **err)
{
    auto(user) struct user *owner = NULL;
    struct stat st;

    if (stat(repository, &st)) {
        error_set(err, ERROR_NOT_FOUND, "there is no repository '%s'", repository);
        return error_hint(err, "the work tree's origin was not made by this machine's hutch");
    }
    if (geteuid() != 0 || st.st_uid == 0)
        return 0;
    int rc = user_find_uid(st.st_uid, &owner, err);
    if (!rc)
        rc = user_become(owner, err);
    if (!rc)
        setenv("HOME", owner->home, 1);
    return rc;
}

/* What git tells us about the work tree's own repository must not reach a program that serves another one. */
static void leave_work_tree(void)
{
    static const char *const names[] = {"GIT_DIR",
                                        "GIT_WORK_TREE",
                                        "GIT_INDEX_FILE",
                                        "GIT_OBJECT_DIRECTORY",
                                        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                        "GIT_COMMON_DIR",
                                        "GIT_NAMESPACE",
                                        "GIT_PREFIX",
                                        "GIT_QUARANTINE_PATH",
                                        "GIT_CONFIG_PARAMETERS"};
    for (size_t i = 0; i < countof(names); i++)
        unsetenv(names[i]);
}

/* Pushes that a person rejected since the last time, with his words. */
static void tell_denied(const json_t *body)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(body, "said"), i, row)
    {
        const char *ref = host_ask_word(row, "ref", ""), *reason = host_ask_word(row, "reason", "");
        autofree char *words =
            xasprintf("#%lld (%s) was rejected: %s",
                      (long long)json_integer_value(json_object_get(row, "request")), ref, reason);
        struct text safe;
        text_init(&safe, words, strlen(words), WORDS_SHOWN, TEXT_DEFAULT);
        fprintf(stderr, "hutch: %s\n", safe.bytes);
        text_finish(&safe);
    }
}

/* The host may have news: they come into the repository before it is read. One that does not answer costs the
 * news alone. */
static void refresh(const char *name)
{
    autofree char *host = xasprintf("%s.fetch.hutch.internal", name);
    auto(error) struct error *err = NULL;
    auto(json) json_t *body = NULL;
    struct text safe;
    int status = 0;

    if (host_ask(host, REFRESH_S, &status, &body, &err))
        return; /* there is no way out at all, which others say */
    const char *why = status == 200 ? host_ask_word(body, "error", "")
                                    : host_ask_word(body, "reason", "the host does not answer");
    text_init(&safe, why, strlen(why), WORDS_SHOWN, TEXT_DEFAULT);
    if (safe.len)
        fprintf(stderr, "hutch: not refreshed: %s\n", safe.bytes);
    text_finish(&safe);
    if (status == 200)
        tell_denied(body);
}

static int connect_service(const char *service, const char *name, const char *repository)
{
    autofree char *hooks_folder = push_hook_folder(place_state_from_environment());
    autofree char *hooks = xasprintf("core.hooksPath=%s", hooks_folder);
    autofree char *safe = xasprintf("safe.directory=%s", repository);
    auto(error) struct error *err = NULL;

    if (strcmp(service, "git-upload-pack") != 0 && strcmp(service, "git-receive-pack") != 0)
        return fd_write_all(1, "fallback\n", 9, NULL) ? 1 : 0;
    if (become_owner(repository, &err)) {
        fprintf(stderr, "git-remote-hutch: %s\n", err->message);
        return 1;
    }
    leave_work_tree();
    if (!strcmp(service, "git-upload-pack"))
        refresh(name);
    if (fd_write_all(1, "\n", 1, NULL))
        return 1;
    /* the hook refuses a deletion, in words of ours: git would name a setting */
    execlp("git", "git", "-c", safe, "-c", hooks, "-c", "receive.denyDeleteCurrent=ignore",
           service + strlen("git-"), repository, (char *)NULL);
    fprintf(stderr, "git-remote-hutch: cannot run git: %s\n", strerror(errno));
    return 1;
}

int remote_main(int argc, char **argv)
{
    autofree char *folder = xasprintf("%s/git", place_state_from_environment());
    autofree char *repository = NULL;
    auto(error) struct error *err = NULL;
    char line[LINE_MAX_BYTES];

    if (argc < 3) {
        fprintf(stderr, "git-remote-hutch: for git alone: the remote of hutch::NAME\n");
        return 2;
    }
    if (place_repository(folder, argv[2], &repository, &err)) {
        fprintf(stderr, "git-remote-hutch: %s\n", err->message);
        return 1;
    }
    while (read_line(line) && *line) {
        if (!strcmp(line, "capabilities")) {
            if (fd_write_all(1, "connect\n\n", 9, NULL))
                return 1;
        } else if (!strncmp(line, "connect ", 8)) {
            return connect_service(line + 8, argv[2], repository);
        } else {
            fprintf(stderr, "git-remote-hutch: unknown command '%s'\n", line);
            return 1;
        }
    }
    return 0;
}
