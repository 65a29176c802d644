#include "repo/send.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "repo/git.h"
#include "repo/quarantine.h"

#include <string.h>

#define TAKE_QUIET_S 300
#define PUSH_QUIET_S 600
#define PUSH_WALL_S  (4 * 3600)

int send_check(const struct send *send, struct error **err)
{
    size_t len = strlen(send->commit);
    bool named = !strncmp(send->to, "refs/heads/", 11) || !strncmp(send->to, "refs/tags/", 10);

    if ((len != 40 && len != 64) || strspn(send->commit, "0123456789abcdef") != len)
        return error_set(err, ERROR_INVALID, "'%.80s' is no full id of a commit", send->commit);
    if (*send->from != '/')
        return error_set(err, ERROR_INVALID, "\"from\" must be a full path");
    if (named && git_ref_ok(send->to))
        return 0;
    autofree char *safe = text_safe(send->to);
    error_set(err, ERROR_INVALID, "'%.200s' can be no name in a machine", safe);
    return error_hint(err, "a branch or a tag, of letters, digits, . _ / and -");
}

static char *sent_folder(const struct send *send)
{
    return file_join(send->quarantine, QUARANTINE_SENT);
}

/* Makes sent.git, if it is not there, like the quarantine. */
static int prepare(const struct send *send, struct error **err)
{
    static const char *const args[] = {"rev-parse", "--show-object-format", NULL};
    autofree char *sent = sent_folder(send), *format = NULL;
    int rc = git_own(send->quarantine, args, NULL, &format, err);

    if (rc < 0)
        return rc;
    format[strcspn(format, "\n")] = '\0';
    rc = quarantine_prepare(sent, send->mirror, format, err);
    return rc < 0 ? rc : quarantine_prepare(send->quarantine, send->mirror, format, err);
}

/* The user's git serves his repository; ours takes. */
static int take(const struct send *send, struct error **err)
{
    autofree char *sent = sent_folder(send);
    autofree char *spec = xasprintf("+%s:refs/sent/%s", send->commit, send->commit);
    autofree char *what = xasprintf("git fetch of '%s'", send->from);
    const char *argv[] = {"git",
                          "--git-dir",
                          sent,
                          "-c",
                          "core.hooksPath=/dev/null",
                          "-c",
                          "gc.auto=0",
                          "-c",
                          "protocol.version=2",
                          "-c",
                          "protocol.file.allow=always",
                          "-c",
                          "transfer.bundleURI=false",
                          "fetch",
                          "-q",
                          "--no-tags",
                          "--no-write-fetch-head",
                          "--no-recurse-submodules",
                          "--no-auto-maintenance",
                          "--",
                          send->from,
                          spec,
                          NULL};
    char **env = git_user_env();
    struct git_run run = {.argv = argv,
                          .env = (const char *const *)env,
                          .keep = -1,
                          .what = what,
                          .cancel = send->cancel,
                          .quiet_limit_s = TAKE_QUIET_S};
    int rc = git_run(&run, NULL, err);

    git_free_list(env);
    return rc;
}

int send_take(const struct send *send, struct error **err)
{
    autofree char *sent = sent_folder(send), *ref = xasprintf("refs/sent/%s", send->commit);
    autofree char *lock_path = xasprintf("%s.lock", send->quarantine);
    const char *args[] = {"rev-parse", "-q", "--verify", ref, NULL};
    autoclose int lock = -1;
    int rc = fd_lock_file(lock_path, true, true, &lock, err);

    if (rc == 0)
        rc = prepare(send, err);
    if (rc == 0)
        rc = take(send, err);
    if (rc == 0 && git_own(sent, args, NULL, NULL, NULL) < 0) { /* git leaves it out: a shallow clone */
        rc = error_set(err, ERROR_STATE, "'%s' has not all of the history of %.12s (a shallow clone)",
                       send->from, send->commit);
        error_hint(err, "run `git fetch --unshallow` in it");
    }
    return rc;
}

/* The reason of " ! [remote rejected] ID -> NAME (why)". */
static int refused(const struct send *send, const struct error *why, struct error **err)
{
    const char *open = strrchr(why->message, '('), *shut = open ? strrchr(open, ')') : NULL;

    if (!strstr(why->message, "rejected]") || !shut)
        return error_set(err, why->code, "%s", why->message);
    error_set(err, ERROR_STATE, "%.*s", (int)(shut - open - 1), open + 1);
    return error_hint(err,
                      "the machine has other commits there: fetch them first, or take another name than '%s'",
                      send->to);
}

int send_push(const struct paths *paths, const struct send *send, int fd, struct error **err)
{
    autofree char *program = NULL, *sent = sent_folder(send);
    autofree char *spec = xasprintf("%s%s:%s", send->force ? "+" : "", send->commit, send->to);
    auto(error) struct error *why = NULL;
    int rc = paths_program(paths, "hutch-git", &program, err);

    if (rc < 0)
        return rc;
    const char *argv[] = {program, "send", sent, send->mirror ? send->mirror : sent, spec, NULL};
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    struct git_run run = {.argv = argv,
                          .env = env,
                          .only_env = true,
                          .keep = fd,
                          .what = "the push into the machine",
                          .cancel = send->cancel,
                          .limit_s = PUSH_WALL_S,
                          .quiet_limit_s = PUSH_QUIET_S};
    rc = git_run(&run, NULL, &why);
    return rc < 0 ? refused(send, why, err) : 0;
}
