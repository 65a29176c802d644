#include "cli/remote.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "client/client.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 8192
#define LINES_MAX      10000 /* of one batch of git's */
#define ASK_MS         20000

/* What the far end has. */
struct remote {
    char *project, *repo; /* repo NULL: the only one */
    char *folder;         /* of the quarantine */
    char *format;
    struct buf list; /* "COMMIT NAME\n" */
    bool formats;    /* git asks how objects are named */
};

static void remote_finish(struct remote *remote)
{
    free(remote->project);
    free(remote->repo);
    free(remote->folder);
    free(remote->format);
    buf_finish(&remote->list);
}

/* ---- hutchd ---- */

static void take_line(json_t *line, void *user)
{
    struct remote *remote = user;
    const char *ref = out_string(line, "ref"), *commit = out_string(line, "commit");

    if (*out_string(line, "folder") && !remote->folder) {
        remote->folder = xstrdup(out_string(line, "folder"));
        remote->format = xstrdup(out_string(line, "format"));
    } else if (*ref && *commit) {
        buf_printf(&remote->list, NULL, "%s %s\n", commit, ref);
    }
}

static int look(struct client *client, struct remote *remote, struct error **err)
{
    autofree char *repo = remote->repo ? json_url_encode(remote->repo, strlen(remote->repo)) : NULL;
    autofree char *path =
        project_path(remote->project, repo ? "/git/remote?repo=%s" : "/git/remote", repo ? repo : "");

    if (remote->folder)
        return 0;
    int rc = client_lines(client, "GET", path, NULL, take_line, remote, NULL, err);
    if (rc == 0 && !remote->folder)
        rc = error_set(err, ERROR_PROTOCOL, _("hutchd does not say where it is"));
    if (rc == 0 && strcmp(remote->format, "sha1") != 0 && !remote->formats) {
        error_set(err, ERROR_MISSING, _("this git knows no remotes with objects of %s"), remote->format);
        return error_hint(err, _("a newer git does: 2.30 or later"));
    }
    return rc;
}

/* ---- git ---- */

/* One git of the user's in his repository, which git itself names by GIT_DIR; first line of what it says.
 * NULL: it says no. Caller frees. */
static char *ask_git(const char *a, const char *b, const char *c, const char *d)
{
    const char *argv[] = {"git", a, b, c, d, NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    char *out = NULL;

    if (spawn_run(&spawn, ASK_MS, PATH_MAX, &out, NULL) < 0) {
        free(out);
        return NULL;
    }
    out[strcspn(out, "\n")] = '\0';
    return out;
}

/* Copies the objects: no ref is written here, no hook, no filter and no configuration of the far end has a
 * say, and git looks at each object. */
static int fetch_objects(const struct remote *remote, char *const *commits, size_t count, struct error **err)
{
    static const char *const words[] = {"git",
                                        "-c",
                                        "core.hooksPath=/dev/null",
                                        "-c",
                                        "core.fsmonitor=false",
                                        "-c",
                                        "transfer.fsckObjects=true",
                                        "-c",
                                        "fetch.fsckObjects=true",
                                        "-c",
                                        "protocol.version=2",
                                        "-c",
                                        "protocol.allow=never",
                                        "-c",
                                        "protocol.file.allow=always",
                                        "-c",
                                        "transfer.bundleURI=false",
                                        "-c",
                                        "fetch.writeCommitGraph=false",
                                        "fetch",
                                        "-q",
                                        "--no-tags",
                                        "--no-write-fetch-head",
                                        "--no-recurse-submodules",
                                        "--no-auto-maintenance",
                                        "--"};
    const char **argv = xnewn(const char *, countof(words) + count + 2);
    size_t n = countof(words);
    int status = 0;
    pid_t pid;

    memcpy(argv, words, sizeof(words));
    argv[n++] = remote->folder;
    for (size_t i = 0; i < count; i++)
        argv[n++] = commits[i];
    const struct spawn spawn = {.argv = argv, .in = -1, .out = STDERR_FILENO, .err = STDERR_FILENO};
    int rc = spawn_start(&spawn, &pid, err);
    if (rc == 0)
        rc = spawn_wait(pid, &status, err);
    free(argv);
    if (rc == 0 && status != 0)
        rc = error_set(err, ERROR_FAILED, _("git could not take what came out of \"%s\""), remote->project);
    return rc;
}

/* ---- the conversation ---- */

static int say(const char *text, struct error **err)
{
    return fd_write_all(STDOUT_FILENO, text, strlen(text), err);
}

/* One line of git; NULL at its end. */
static char *read_line(char line[LINE_MAX_BYTES])
{
    if (!fgets(line, LINE_MAX_BYTES, stdin))
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* The batch that a line begins, to the empty one. Freed by free_lines. */
static char **read_batch(const char *first, size_t *ret_count)
{
    char **lines = xnewn(char *, LINES_MAX), line[LINE_MAX_BYTES];
    size_t count = 0;

    lines[count++] = xstrdup(first);
    while (read_line(line) && *line)
        if (count < LINES_MAX)
            lines[count++] = xstrdup(line);
    *ret_count = count;
    return lines;
}

static void free_lines(char **lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

static bool is_commit(const char *hex, size_t len)
{
    return (len == 40 || len == 64) && strspn(hex, "0123456789abcdef") >= len;
}

/* "fetch COMMIT NAME" */
static int fetch_batch(const struct remote *remote, const char *first, struct error **err)
{
    size_t count, used = 0;
    char **lines = read_batch(first, &count);
    char **commits = xnewn(char *, count + 1);

    for (size_t i = 0; i < count; i++) {
        const char *hex = strncmp(lines[i], "fetch ", 6) ? "" : lines[i] + 6;
        size_t len = strcspn(hex, " ");
        if (is_commit(hex, len))
            commits[used++] = xstrndup(hex, len);
    }
    int rc = used ? fetch_objects(remote, commits, used, err) : 0;
    free_lines(lines, count);
    free_lines(commits, used);
    return rc < 0 ? rc : say("\n", err);
}

/* "push [+]SOURCE:NAME" as a row of the request, or NULL with the reason. */
static json_t *read_push(const char *line, char **ret_to, const char **ret_why)
{
    const char *spec = strncmp(line, "push ", 5) ? "" : line + 5;
    bool force = *spec == '+';
    const char *source = spec + force, *colon = strchr(source, ':');

    *ret_to = xstrdup(colon ? colon + 1 : "");
    if (!colon || colon == source) {
        *ret_why = _("nothing of a machine is deleted from here");
        return NULL;
    }
    autofree char *name = xstrndup(source, (size_t)(colon - source));
    autofree char *commit = ask_git("rev-parse", "-q", "--verify", name);
    json_t *row =
        commit ? json_pack("{s:s, s:s, s:b}", "commit", commit, "to", *ret_to, "force", force) : NULL;
    *ret_why = row ? NULL : _("it names nothing that can be sent");
    return row;
}

static void answer_push(struct buf *answer, const char *to, const char *why)
{
    autofree char *safe = why ? text_safe(why) : NULL;

    if (why)
        buf_printf(answer, NULL, "error %s %s\n", to, safe);
    else
        buf_printf(answer, NULL, "ok %s\n", to);
}

static int send_refs(struct client *client, const struct remote *remote, json_t *refs, struct buf *answer,
                     struct error **err)
{
    autofree char *from = ask_git("rev-parse", "--path-format=absolute", "--git-common-dir", NULL);
    autofree char *path = project_path(remote->project, "/git/send");
    auto(json) json_t *body =
        json_pack("{s:s?, s:s?, s:O}", "repo", remote->repo, "from", from, "refs", refs);
    auto(json) json_t *result = NULL;
    const json_t *row;
    size_t i;

    if (!body || !from)
        return error_set(err, ERROR_INVALID, _("git does not say where your repository is"));
    int rc = client_lines(client, "POST", path, body, NULL, NULL, &result, err);
    json_array_foreach(json_object_get(result, "refs"), i, row)
    {
        const char *why = out_string(row, "error");
        answer_push(answer, out_string(row, "to"), *why ? why : NULL);
    }
    return rc;
}

static int push_batch(struct client *client, const struct remote *remote, const char *first,
                      struct error **err)
{
    size_t count;
    char **lines = read_batch(first, &count);
    auto(json) json_t *refs = json_array();
    struct buf answer;
    int rc = 0;

    buf_init(&answer, 0);
    for (size_t i = 0; i < count; i++) {
        autofree char *to = NULL;
        const char *why = NULL;
        json_t *row = read_push(lines[i], &to, &why);
        if (row)
            json_array_append_new(refs, row);
        else
            answer_push(&answer, to, why);
    }
    if (json_array_size(refs))
        rc = send_refs(client, remote, refs, &answer, err);
    buf_printf(&answer, NULL, "\n");
    autofree char *text = buf_take_string(&answer);
    buf_finish(&answer);
    free_lines(lines, count);
    return rc < 0 ? rc : say(text, err);
}

static int list(struct client *client, struct remote *remote, bool for_push, struct error **err)
{
    if (for_push) /* the machine itself says what can go forward */
        return say("\n", err);
    int rc = look(client, remote, err);
    if (rc < 0)
        return rc;
    autofree char *lines = buf_take_string(&remote->list);
    autofree char *text =
        xasprintf("%s%s%s%s\n", remote->formats ? ":object-format " : "",
                  remote->formats ? remote->format : "", remote->formats ? "\n" : "", lines);
    return say(text, err);
}

/* "option NAME VALUE": how objects are named is all that is told. */
static int take_option(struct remote *remote, const char *line, struct error **err)
{
    bool format = !strncmp(line, "option object-format", 20);

    remote->formats = remote->formats || format;
    return say(format ? "ok\n" : "unsupported\n", err);
}

static int converse(struct client *client, struct remote *remote, struct error **err)
{
    char line[LINE_MAX_BYTES];
    int rc = 0;

    while (rc == 0 && read_line(line) && *line) {
        if (!strcmp(line, "capabilities"))
            rc = say("fetch\npush\noption\nobject-format\n\n", err);
        else if (!strncmp(line, "option ", 7))
            rc = take_option(remote, line, err);
        else if (!strcmp(line, "list") || !strcmp(line, "list for-push"))
            rc = list(client, remote, line[4] != '\0', err);
        else if (!strncmp(line, "fetch ", 6))
            rc = look(client, remote, err) < 0 ? -ERROR_FAILED : fetch_batch(remote, line, err);
        else if (!strncmp(line, "push ", 5))
            rc = push_batch(client, remote, line, err);
        else
            rc = error_set(err, ERROR_PROTOCOL, _("git asks for what this remote has not"));
    }
    return rc;
}

int remote_main(int argc, char **argv)
{
    auto(client) struct client *client = NULL;
    auto(error) struct error *err = NULL;
    struct remote remote = {0};

    if (argc < 3) {
        fprintf(stderr, REMOTE_PROGRAM ": for git alone: git remote add NAME hutch::PROJECT[/REPO]\n");
        return 2;
    }
    setvbuf(stdin, NULL, _IONBF, 0);
    const char *slash = strchr(argv[2], '/');
    remote.project = slash ? xstrndup(argv[2], (size_t)(slash - argv[2])) : xstrdup(argv[2]);
    remote.repo = slash && slash[1] ? xstrdup(slash + 1) : NULL;
    buf_init(&remote.list, 0);
    int rc = client_connect(true, &client, &err);
    if (rc == 0)
        rc = converse(client, &remote, &err);
    remote_finish(&remote);
    if (rc == 0)
        return 0;
    out_error(err);
    return 1;
}

/* ---- the offer ---- */

/* The program is where git looks for it. */
static bool helper_found(void)
{
    const char *path = getenv("PATH");
    autofree char *own = ask_git("--exec-path", NULL, NULL, NULL);
    autofree char *all = xasprintf("%s:%s", own ? own : "", path ? path : "");
    char *rest = all;

    for (char *folder = strsep(&rest, ":"); folder; folder = strsep(&rest, ":")) {
        autofree char *program = file_join(folder, REMOTE_PROGRAM);
        if (*folder && file_exists(program))
            return true;
    }
    return false;
}

void remote_offer(const json_t *project)
{
    const json_t *repos = json_object_get(project, "repos");
    const char *name = out_string(project, "name"), *spec = out_string(json_array_get(repos, 0), "source");
    autofree char *folder = xstrndup(spec, strcspn(spec, "#"));

    if (json_array_size(repos) != 1 || *folder != '/' || !helper_found())
        return;
    autofree char *key = xasprintf("remote.%s.url", name);
    const char *argv[] = {"git", "-C", folder, "config", "--get-regexp", "^remote\\..*\\.url$", NULL};
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    autofree char *out = NULL, *url = xasprintf(" hutch::%s\n", name);
    if (spawn_run(&spawn, ASK_MS, 65536, &out, NULL) < 0)
        out = xstrdup("");
    if (strstr(out, url))
        return;
    autofree char *safe = text_safe(folder);
    bool taken = strstr(out, key) != NULL;
    out_note(_("as a remote of your repository: git -C '%s' remote add %s%s hutch::%s"), safe,
             taken ? "hutch-" : "", name, name);
}
