/* repo.h: git repositories on their way in: where one comes from, the bare mirror in the cache, the push into
 * the guest. git does transport and checks, by argv. Blocking: job threads. */
#ifndef HUTCH_REPO_REPO_H
#define HUTCH_REPO_REPO_H

#include "base/paths.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct repo_source {
    char *name;   /* of the repository in the project */
    char *url;    /* what git fetches from: a URL, or the full path of a local repository */
    char *remote; /* the real remote's URL that the guest sees as remote.origin.hutchurl (never with a
                     password): url, or the local repository's own origin */
    char *ref;    /* asked for: branch, tag, commit id, or NULL (HEAD) */
    bool local;
    bool submodules; /* it has .gitmodules at ref: said, not followed */
};
void repo_source_free(struct repo_source *source);
AUTO_DEFINE(repo_source, struct repo_source *, repo_source_free);
/* Reads "URL-or-PATH[#REF]" (a path may be a work tree, a linked worktree, a bare repository).
 * ERROR_NOT_FOUND, ERROR_INVALID (an option-like string, a transport helper "x::", control characters). */
int repo_source_parse(const char *spec, struct repo_source **ret_source, struct error **err);

typedef void (*repo_progress_fn)(const char *text, uint64_t objects_done, uint64_t objects_total,
                                 uint64_t bytes, void *user);

/* Fetches into cache/mirrors/DIGEST.git as the user would (his ssh config, agent, credential helpers, proxy),
 * never asking at a terminal. ret_mirror: folder; caller frees. */
int repo_mirror(const struct paths *paths, const struct repo_source *source, repo_progress_fn progress,
                void *user, const atomic_bool *cancel, char **ret_mirror, struct error **err);
/* What HEAD or source->ref is in the mirror: full ref name ("refs/heads/main", "" for a bare commit id) and
 * commit ("" if empty). Callers free both. */
int repo_resolve(const char *mirror, const char *ref, char **ret_ref, char **ret_commit, struct error **err);
/* Whether the commit has submodules (said, not followed). */
bool repo_has_submodules(const char *mirror, const char *commit);
/* Whether files of the commit are LFS pointers by its .gitattributes (they come as pointers). */
bool repo_has_lfs(const char *mirror, const char *commit);
/* Pushes the mirror's branches and tags through `fd` (a stream that speaks git-receive-pack) by the confined
 * child hutch-git. */
int repo_push(const struct paths *paths, const char *mirror, const char *commit, int fd,
              repo_progress_fn progress, void *user, const atomic_bool *cancel, struct error **err);

#endif
