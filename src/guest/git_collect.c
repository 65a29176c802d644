/* Work that exists in a work tree alone is put where the host can fetch it: into the bare repository, below
 * refs/hutch/work: branches and commits on no branch that were not pushed, stashes, and what is not committed
 * as a commit of its own. The work tree's index, branches and files stay as they are. */
#include "base/alloc.h"
#include "guest/api.h"
#include "guest/run.h"
#include "guest/user.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ID_TEXT_SIZE 16

/* $1 the work tree, $2 the bare repository; as the owner of both. Objects go over by a push (no hooks, no
 * configuration of the work tree decides where to); what the bare repository has as a branch or a tag anyway
 * is not kept twice. A file of more than 100 MiB that git does not know is left out. */
static const char script[] =
    "[ -e \"$1\" ] || exit 0\n"
    "export GIT_OPTIONAL_LOCKS=0\n" /* who works in it meanwhile never finds its index locked */
    "cd \"$1\" || exit 1\n"
    "bare=$2 zero=$(git -C \"$2\" hash-object -t tree /dev/null) || exit 1\n"
    "b() { git -c safe.directory=\"$bare\" --git-dir=\"$bare\" \"$@\"; }\n"
    "new=$(mktemp) index=$(mktemp -u) && trap 'rm -f \"$new\" \"$index\" \"$index\".lock' EXIT || exit 1\n"
    "send() {\n" /* a commit under a name, unless a pushed branch or tag holds it */
    "    case $2 in (*[!A-Za-z0-9._/-]*) return 0;; esac\n"
    "    b rev-parse -q --verify \"$1^{commit}\" >/dev/null &&\n"
    "        [ -z \"$(b rev-list -n1 \"$1\" --not --branches --tags)\" ] && [ \"$3\" != always ] && return "
    "0\n"
    "    [ \"$(b rev-parse -q --verify \"refs/hutch/work/$2\")\" = \"$1\" ] ||\n"
    "        git -c core.hooksPath=/dev/null -c safe.directory=\"$bare\" push -q --no-verify --force "
    "\"$bare\" \"$1:refs/hutch/work/$2\" ||\n"
    "        return 1\n"
    "    echo \"refs/hutch/work/$2\" >>\"$new\"\n"
    "}\n"
    "uncommitted() {\n" /* of the work tree we are in, under this name */
    "    head=$(git rev-parse -q --verify HEAD)\n"
    "    rm -f \"$index\"; real=$(git rev-parse --git-path index)\n"
    "    [ -e \"$real\" ] && { cp \"$real\" \"$index\" || return 1; }\n"
    "    [ -n \"$(git status --porcelain --ignore-submodules=dirty)\" ] || return 0\n"
    "    GIT_INDEX_FILE=$index git -c core.hooksPath=/dev/null -c core.fsmonitor=false add -u || return 1\n"
    "    git ls-files -o --exclude-standard -z | xargs -0r sh -c 'for f; do case $f in (*/) continue;; "
    "esac;\n"
    "        [ -h \"$f\" ] || [ \"$(stat -c %s \"$f\")\" -le 104857600 ] || continue\n"
    "        printf \"%s\\0\" \"$f\"; done' sh | GIT_INDEX_FILE=$index git update-index --add -z --stdin || "
    "return 1\n"
    "    tree=$(GIT_INDEX_FILE=$index git write-tree) || return 1\n"
    "    [ \"$tree\" != \"$(git rev-parse -q --verify HEAD^{tree} || echo \"$zero\")\" ] || return 0\n"
    "    old=$(b rev-parse -q --verify \"refs/hutch/work/$1\")\n"
    "    if [ -n \"$old\" ] && [ \"$(b rev-parse -q --verify \"$old^{tree}\")\" = \"$tree\" ] &&\n"
    "        [ \"$(b rev-parse -q --verify \"$old^1\")\" = \"$head\" ]; then echo \"refs/hutch/work/$1\" "
    ">>\"$new\"; "
    "return 0; fi\n"
    "    commit=$(GIT_AUTHOR_NAME=hutch GIT_AUTHOR_EMAIL=hutch@localhost GIT_COMMITTER_NAME=hutch "
    "GIT_COMMITTER_EMAIL=hutch@localhost git -c commit.gpgSign=false commit-tree ${head:+-p \"$head\"} "
    "-m 'what was not committed' \"$tree\") || return 1\n"
    "    send \"$commit\" \"$1\" always\n"
    "}\n"
    "heads=$(git for-each-ref --format='%(objectname) %(refname)' refs/heads) || exit 1\n"
    "echo \"$heads\" | while read -r commit ref; do\n"
    "    [ -z \"$commit\" ] || send \"$commit\" \"heads/${ref#refs/heads/}\" || exit 1\n"
    "done || exit 1\n"
    "n=0\n"
    "for commit in $(git log -g --format=%H refs/stash 2>/dev/null); do\n"
    "    send \"$commit\" stash/$n always || exit 1\n"
    "    n=$((n + 1)); [ $n -lt 100 ] || break\n"
    "done\n"
    "n=0\n"
    "git worktree list --porcelain | sed -n 's/^worktree //p' | while read -r tree; do\n"
    "    cd \"$tree\" 2>/dev/null || continue\n"
    "    if ! git symbolic-ref -q HEAD >/dev/null && head=$(git rev-parse -q --verify HEAD) &&\n"
    "        [ -n \"$(git rev-list -n1 HEAD --not --branches)\" ]; then\n"
    "        send \"$head\" detached-$n || exit 1\n"
    "    fi\n"
    "    if [ $n = 0 ]; then uncommitted uncommitted; else uncommitted worktree-$n/uncommitted; fi || exit "
    "1\n"
    "    n=$((n + 1)); [ $n -lt 32 ] || break\n"
    "done || exit 1\n"
    "b for-each-ref --format='%(refname)' refs/hutch/work | while read -r ref; do\n"
    "    grep -qxF \"$ref\" \"$new\" || b update-ref -d \"$ref\"\n"
    "done\n";

static int collect(struct call *call, json_t **ret, struct error **err)
{
    const struct place *place = &call->agent->place;
    const char *target = NULL, *name = call->query.argument[0];
    autofree char *bare = NULL;
    char owner[ID_TEXT_SIZE];
    struct stat st;

    int rc = place_repository(place->git, name, &bare, err);
    if (!rc)
        rc = json_get_string(call->body, "target", QUERY_PATH_MAX, &target, err);
    if (rc)
        return rc;
    if (*target != '/')
        return error_set(err, ERROR_INVALID, "the target '%.200s' is not an absolute path of a folder",
                         target);
    if (lstat(bare, &st) || !S_ISDIR(st.st_mode))
        return error_set(err, ERROR_NOT_FOUND, "the machine has no repository '%s'", name);
    snprintf(owner, sizeof(owner), "%u", (unsigned)st.st_uid);
    const char *const argv[] = {"sh", "-c", script, "sh", target, bare, NULL};
    rc = run_command(place, owner, false, argv, NULL, NULL, err);
    if (!rc)
        *ret = json_pack("{s:s}", "path", bare);
    return rc;
}

void git_collect(struct call *call)
{
    call_work(call, collect);
}
