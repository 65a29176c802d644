#include "daemon/alone.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "daemon/git_out.h"
#include "daemon/machine.h"
#include "repo/repo.h"
#include "wire/json.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK_MS   60000
#define LIST_MS    10000
#define FACTS_MAX  65536 /* bytes that the script below prints at most */
#define SHOWN_MAX  12    /* things that are named */
#define NAME_SHOWN 200
#define PUSHED_MAX 2000
#define TREES_MAX  32

/* What a work tree ($1) holds, a fact a line; $2 is the commit that came in (may be empty). A git that fails
 * is no proof of anything.
 *   branch COMMIT NEW NAME     NEW: commits that $2 has not
 *   head COMMIT NEW            on no branch
 *   stash COMMIT
 *   files TREE NUMBER LARGE WORDS   not committed; LARGE: of those that are too large to be fetched */
static const char script[] =
    "[ -e \"$1\" ] || exit 0\n"
    "export GIT_OPTIONAL_LOCKS=0\n"
    "cd \"$1\" || exit 1\n"
    "lines=0\n"
    "say() {\n"
    "    lines=$((lines + 1))\n"
    "    [ $lines -le 500 ] || exit 1\n"
    "    printf '%.100s%.220s\\n' \"$1\" \"$2\"\n"
    "}\n"
    "heads=$(git for-each-ref --format='%(refname)' refs/heads) || exit 1\n"
    "for ref in $heads; do\n"
    "    n=$(git rev-list --count \"$ref\" ${2:+--not \"$2\"}) || exit 1\n"
    "    [ \"$n\" = 0 ] || say \"branch $(git rev-parse \"$ref\") $n \" \"${ref#refs/heads/}\"\n"
    "done\n"
    "for commit in $(git log -g --format=%H refs/stash 2>/dev/null); do say \"stash $commit\"; done\n"
    "tree=0\n"
    "list=$(git worktree list --porcelain | sed -n 's/^worktree //p') || exit 1\n"
    "while read -r folder; do\n"
    "    cd \"$folder\" 2>/dev/null || continue\n"
    "    if git rev-parse -q --verify HEAD >/dev/null; then\n"
    "        n=$(git rev-list --count HEAD --not --branches ${2:+\"$2\"}) || exit 1\n"
    "        [ \"$n\" = 0 ] || say \"head $(git rev-parse HEAD) $n\"\n"
    "    fi\n"
    "    list=$(git status --porcelain) || exit 1\n"
    "    if [ -n \"$list\" ]; then\n"
    "        large=$(git ls-files -o --exclude-standard -z | xargs -0r sh -c 'for f; do case $f in (*/) "
    "echo; "
    "continue;; esac;\n"
    "            [ -h \"$f\" ] || [ \"$(stat -c %s \"$f\")\" -le 104857600 ] || echo; done' sh | wc -l)\n"
    "        say \"files $tree $(printf '%s\\n' \"$list\" | wc -l) $large\" \"$(printf '%s\\n' \"$list\" |\n"
    "            head -n5 | cut -c4-43 | sed 's/^/ /' | tr -d '\\n')\"\n"
    "    fi\n"
    "    tree=$((tree + 1))\n"
    "done <<END\n"
    "$list\n"
    "END\n";

/* ---- the facts ---- */

/* What the script printed; empty if that cannot be had. Caller frees. */
static char *read_facts(struct work *work, const char *session)
{
    autofree char *path = xasprintf("/v1/sessions/%s/stdout", session);
    struct guest_call call = {
        .op = GUEST_OP_READ, .port = PORT_BULK, .flags = WCALL_STREAM_OUT, .path = path, .stream = -1};
    char *bytes = xcalloc(FACTS_MAX + 1, 1);
    size_t len = 0;
    int fds[2];

    if (fd_socketpair(SOCK_STREAM, false, fds, NULL) < 0)
        return bytes;
    call.stream = fds[1];
    guest_call_wait(work->daemon->guests, work->r.id, &call, LIST_MS, job_cancel_flag(work->job), NULL, NULL);
    for (ssize_t n; len < FACTS_MAX; len += (size_t)n) {
        n = recv(fds[0], bytes + len, FACTS_MAX - len, MSG_DONTWAIT);
        if (n <= 0)
            break;
    }
    close(fds[0]);
    return bytes;
}

/* Runs the script in one work tree. */
static int ask_machine(struct work *work, const struct repo_row *row, char **ret_facts, struct error **err)
{
    json_t *body = json_pack("{s:[s, s, s, s, s, s], s:s, s:s, s:i}", "argv", "sh", "-c", script, "sh",
                             row->target, row->commit ? row->commit : "", "user", work->r.user, "label", "rm",
                             "timeout_ms", CHECK_MS);
    autofree char *wait = NULL, *forget = NULL;
    struct wmsg_item item;
    int rc;

    require(body);
    rc = machine_call(work, GUEST_OP_SESSION_START, "/v1/sessions", body, CHECK_MS, &item, err);
    if (rc < 0)
        return rc;
    wait = xasprintf("/v1/sessions/%s/wait", item.u.session.id);
    forget = xasprintf("/v1/sessions/%s", item.u.session.id);
    rc = machine_call(work, GUEST_OP_SESSION_SHOW, wait, NULL, CHECK_MS, &item, err);
    autofree char *facts = rc == 0 ? read_facts(work, item.u.session.id) : NULL;
    machine_call(work, GUEST_OP_DELETE, forget, NULL, CHECK_MS, NULL, NULL);
    if (rc < 0)
        return rc;
    if (item.u.session.exit_status != 0)
        return error_set(err, ERROR_GUEST, "git in it failed (%d)", (int)item.u.session.exit_status);
    *ret_facts = steal(&facts);
    return 0;
}

/* ---- what is elsewhere ---- */

void alone_known(const struct daemon *daemon, const struct record *r, const struct repo_row *row,
                 struct known *ret_known)
{
    auto(repo_source) struct repo_source *source = NULL;
    autofree char *folder = git_out_folder(daemon, r->id, row->name);

    known_init(ret_known, folder);
    if (repo_source_parse(row->spec, &source, NULL) == 0 && source->local)
        known_add(ret_known, source->url);
    known_add(ret_known, r->folder);
}

/* The mirror as it is now; one that cannot be reached stays as it was. False: it is a URL's and was not
 * asked, because it may take long and remote is false. */
static bool refresh_mirror(struct work *work, const struct repo_row *row, bool remote)
{
    auto(repo_source) struct repo_source *source = NULL;
    auto(error) struct error *err = NULL;
    autofree char *mirror = NULL;
    int rc = repo_source_parse(row->spec, &source, &err);

    if (rc == 0 && !source->local && !remote)
        return false;
    if (rc == 0)
        job_progress(work->job, "rm", 0, 0, NULL, "%s: looking at what '%s' has", row->name, source->remote);
    if (rc == 0)
        rc = repo_mirror(work->daemon->paths, source, NULL, NULL, job_cancel_flag(work->job), &mirror, &err);
    if (rc < 0)
        log_debug("%s", err->message);
    return true;
}

/* ---- comparing ---- */

struct list {
    struct known known;
    struct buf words;
    size_t count; /* things that are nowhere else */
    size_t stashes;
};

static void say(struct list *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct list *list, const char *format, ...)
{
    va_list args;

    if (list->count++ >= SHOWN_MAX)
        return;
    va_start(args, format);
    autofree char *words = xvasprintf(format, args);
    va_end(args);
    autofree char *safe = text_safe(words);
    buf_printf(&list->words, NULL, "%s%s", list->count > 1 ? "; " : "", safe);
}

static bool is_commit(const char *hex)
{
    size_t len = strlen(hex);
    return (len == 40 || len == 64) && strspn(hex, "0123456789abcdef") == len;
}

/* "commits on …" of a commit that is nowhere else. */
static void weigh(struct list *list, const char *commit, long long claimed, const char *where)
{
    if (is_commit(commit) && known_has(&list->known, commit))
        return;
    int64_t count = is_commit(commit) ? known_count_new(&list->known, commit) : -1;
    say(list, "commits on %.*s (%lld)", NAME_SHOWN, where, count < 0 ? claimed : (long long)count);
}

/* Whether what is not committed in a work tree was fetched and is elsewhere by now. */
static bool files_known(const struct list *list, unsigned tree)
{
    autofree char *ref =
        tree ? xasprintf("refs/work/worktree-%u/uncommitted", tree) : xstrdup("refs/work/uncommitted");
    struct quarantine_ref *refs = NULL;
    size_t count = 0;
    bool known = false;

    if (quarantine_refs(list->known.quarantine, ref, &refs, &count, NULL) == 0)
        known = count == 1 && known_has(&list->known, refs[0].commit);
    quarantine_free_refs(refs, count);
    return known;
}

static void weigh_fact(struct list *list, const char *line)
{
    char commit[65] = "";
    long long number = 0, large = 0;
    unsigned tree = 0;
    int used = 0;

    if (sscanf(line, "branch %64s %lld %n", commit, &number, &used) == 2 && used) {
        autofree char *where = xasprintf("branch %s", line + used);
        weigh(list, commit, number, where);
    } else if (sscanf(line, "head %64s %lld", commit, &number) == 2) {
        weigh(list, commit, number, "no branch");
    } else if (sscanf(line, "stash %64s", commit) == 1) {
        list->stashes += !is_commit(commit) || !known_has(&list->known, commit);
    } else if (sscanf(line, "files %u %lld %lld%n", &tree, &number, &large, &used) == 3 && used) {
        if (large > 0 || tree >= TREES_MAX || !files_known(list, tree))
            say(list, "files not committed (%lld):%s", number, line + used);
    } else if (*line) {
        say(list, "what git there says of it: %.*s", NAME_SHOWN, line);
    }
}

/* What was pushed in the machine and has no branch of its work tree any more. */
static void weigh_pushed(struct list *list, const char *facts)
{
    struct quarantine_ref *refs = NULL;
    size_t count = 0;

    if (quarantine_refs(list->known.quarantine, "refs/guest/", &refs, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count && i < PUSHED_MAX; i++)
        if (!strstr(facts, refs[i].commit) && !known_has(&list->known, refs[i].commit))
            say(list, "pushed: %s (%lld)", refs[i].name + strlen("refs/guest/"),
                (long long)known_count_new(&list->known, refs[i].commit));
    quarantine_free_refs(refs, count);
}

/* 1 with the list, or 0. */
static int compare(struct work *work, const struct repo_row *row, const char *facts, char **ret_list)
{
    autofree char *copy = xstrdup(facts);
    struct list list = {0};
    char *rest = copy;

    alone_known(work->daemon, &work->r, row, &list.known);
    buf_init(&list.words, 0);
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        weigh_fact(&list, line);
    if (list.stashes)
        say(&list, "stashes (%zu)", list.stashes);
    weigh_pushed(&list, facts);
    if (list.count > SHOWN_MAX)
        buf_printf(&list.words, NULL, "; and %zu more", list.count - SHOWN_MAX);
    if (list.count)
        *ret_list = buf_take_string(&list.words);
    buf_finish(&list.words);
    known_finish(&list.known);
    return list.count > 0;
}

int alone_find(struct work *work, const struct repo_row *row, char **ret_list, struct error **err)
{
    auto(error) struct error *why = NULL;
    auto(json) json_t *news = NULL;
    autofree char *facts = NULL;

    /* what cannot be fetched is known to nobody: it counts as the machine's alone */
    if (git_out_run(work->daemon, work->job, work->r.id, row->name, true, &news, &why) < 0)
        log_debug("%s", why->message);
    int rc = ask_machine(work, row, &facts, err);
    if (rc < 0)
        return rc;
    bool asked = refresh_mirror(work, row, false);
    rc = compare(work, row, facts, ret_list);
    if (rc == 0 || asked)
        return rc;
    free(*ret_list);
    *ret_list = NULL;
    refresh_mirror(work, row, true);
    return compare(work, row, facts, ret_list);
}
