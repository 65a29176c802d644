/* quarantine.h: what came out of a machine. For each repository of a project a bare repository of the
 * project's own, with the mirror's objects as alternate: nothing of it is ever checked out, pushed into
 * another machine, or reads a configuration that a machine wrote. Bytes of a machine are handled by hutch-git
 * alone, in a throw-away repository beside it; only packs that passed the checks are moved in, then the refs
 * change in one transaction. So whatever is killed, the quarantine is as it was. Blocking: job threads.
 *
 * Refs: refs/guest/heads|tags/NAME what was pushed in the machine; refs/work/… what its work tree alone has;
 * refs/pushes/ID[-base] a request; refs/lost/DATE/PROJECT/NAME what a removal would have lost. */
#ifndef HUTCH_REPO_QUARANTINE_H
#define HUTCH_REPO_QUARANTINE_H

#include "repo/limits.h"
#include "repo/repo.h"

/* The machine's end of a transfer. */
struct quarantine_link {
    /* A stream that speaks git-upload-pack of the machine's repository. */
    int (*open)(void *user, int *ret_fd, struct error **err);
    /* Ends it (closes fd). failed: git is not content; then the error of the machine's side, if it says more,
     * is set. */
    void (*close)(int fd, bool failed, void *user);
    void *user;
};

struct quarantine_change {
    char *name;   /* in the quarantine: "refs/guest/heads/main" */
    char *old;    /* hex; NULL: it is new */
    char *commit; /* hex; NULL: it is gone */
    bool forced;  /* old is no ancestor of it */
};
struct quarantine_skip {
    char *name; /* as the machine calls it; safe to show */
    char *why;
};
/* What a fetch brought. */
struct quarantine_news {
    struct quarantine_change *changes;
    size_t change_count;
    struct quarantine_skip *skips;
    size_t skip_count;
};
void quarantine_news_finish(struct quarantine_news *news);

/* Within a quarantine: what the user sent into the machine (send.h); an alternate of it. */
#define QUARANTINE_SENT "sent.git"

/* Makes it if it is not there, with the object format ("sha1", "sha256"; ERROR_STATE: it has another one) and
 * the mirror as alternate (NULL: none). */
int quarantine_prepare(const char *folder, const char *mirror, const char *format, struct error **err);

/* Whether more may come: ERROR_LIMIT if the quarantine has max bytes already, ERROR_NO_SPACE if its disk has
 * less than min_free left. */
int quarantine_check_room(const char *folder, uint64_t max, uint64_t min_free, struct error **err);
/* Fetches what the machine has pushed and what its work tree had (fetch of branches, tags and
 * refs/hutch/work) into a quarantine that is prepared. One that cannot be taken costs itself only: it is in
 * the skips, with the reason. On failure nothing has changed. */
int quarantine_fetch(const struct paths *paths, const char *folder, const char *mirror,
                     const struct quarantine_link *link, repo_progress_fn progress, void *user,
                     const atomic_bool *cancel, struct quarantine_news *ret_news, struct error **err);

struct quarantine_ref {
    char *name, *commit; /* the object's id in hex: a tag may name a tag object */
};
/* Its refs below a prefix ("refs/guest/"), in order of name. Callers free with quarantine_free_refs. */
int quarantine_refs(const char *folder, const char *prefix, struct quarantine_ref **ret_refs,
                    size_t *ret_count, struct error **err);
void quarantine_free_refs(struct quarantine_ref *refs, size_t count);

struct quarantine_update {
    const char *name;
    const char *commit; /* NULL: it goes */
};
/* Changes refs, all or none. Names are as git_ref_ok has them. */
int quarantine_update(const char *folder, const struct quarantine_update *updates, size_t count,
                      struct error **err);
/* Whether `commit` is `descendant` or one of its ancestors. */
bool quarantine_contains(const char *folder, const char *descendant, const char *commit);

#endif
