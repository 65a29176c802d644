/* review.h: what a person reads of a quarantine: its branches, their commits, what they change. Only objects
 * and refs are read; no configuration, filter, attribute, driver or hook is used. Every string of a result
 * that came out of a machine is safe text (base/text.h). Blocking: a pool or job thread. */
#ifndef HUTCH_REVIEW_REVIEW_H
#define HUTCH_REVIEW_REVIEW_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Limits of what is shown; each is said in the result when it was met. */
#define REVIEW_BRANCHES_MAX 2000
#define REVIEW_LOG_MAX      2000
#define REVIEW_DIFF_MAX     (48u << 20) /* bytes of lines of one answer */
#define REVIEW_LINE_MAX     4000        /* bytes of one line that are shown */
#define REVIEW_HEX_SIZE     65

/* The branches, tags, work and requests: an array of {"ref", "name", "kind":
 * "branch|tag|work|stash|uncommitted|push|lost", "commit", "commits" (that the mirror has not; null: not
 * counted), "time", "subject", "author"}, branches first, at most REVIEW_BRANCHES_MAX. One whose commit
 * cannot be read has "unread" with the reason. */
int review_branches(const char *quarantine, json_t **ret, struct error **err);
/* What a person means by a name: a full ref (before anything that is called like it), a branch, "#41", a
 * commit's id, or NULL for the only branch that has commits of its own. ERROR_NOT_FOUND and ERROR_USAGE name
 * what there is. ret_name (short, safe), ret_ref
 * ("" for an id): callers free. */
int review_find(const char *quarantine, const char *name, char **ret_name, char **ret_ref,
                char ret_hex[REVIEW_HEX_SIZE], struct error **err);
/* {"base", "more": true when there are more than max, "commits": [{"id", "subject", "body", "author", "mail",
 * "time", "committer", "committer_mail", "parents": number}]}: those that the mirror has not, newest first.
 */
int review_log(const char *quarantine, const char *tip_hex, size_t max, json_t **ret, struct error **err);

struct review_ask {
    const char *tip;  /* hex */
    const char *path; /* safe form, as the list of files has it; NULL: all files */
    bool lines;       /* with the lines of each file; else the list alone */
    bool alone;       /* what this commit did to its first parent, not all up to it */
    /* A page: files by their number from `from` on, at most `max` of them (0: all), and no further one begins
     * after so many bytes of lines (0: REVIEW_DIFF_MAX is the only end). */
    size_t from, max, bytes;
};
/* What landing a commit would change against its base, as values for a stream of lines, each well under 64
 * KiB:
 *   {"base": hex or null, "tip": hex, "files": number, "cut": bool}
 *   {"file": number, "path", "old_path", "status": "A|M|D|T|R|C", "old_mode", "new_mode" (octal, or null),
 *    "old_size", "new_size" (null: not there), "kind": "file|symlink|submodule", "binary", "too_large",
 *    "insertions", "deletions" (null: not counted), "class" (persistence; or null), "target", "outside" (of
 * links)}
 *   {"file": number, "hunk": number, "header", "old_start", "old_lines", "new_start", "new_lines"}
 *   {"file": number, "hunk": number, "lines": ["+…", "-…", " …", "\\…"]}
 *   {"cut": true} when REVIEW_DIFF_MAX was met.
 *   {"next": number} when a page ended before the last file: the next one begins there.
 * Files of the persistence list come first, each part in git's order. The caller owns *ret (an array).
 * ERROR_NOT_FOUND: no such path in it. */
int review_diff(const char *quarantine, const struct review_ask *ask, json_t **ret, struct error **err);

/* What of a branch is to be landed. */
struct review_pick {
    const char *path;      /* safe form */
    const unsigned *hunks; /* numbers from 0; NULL: the whole file */
    size_t hunk_count;
};
/* Whoever lands: a name and a mail address. */
struct review_identity {
    const char *name, *mail;
};
/* Makes one commit of the picked files and hunks on top of the base, in the quarantine: its author is the
 * tip's, its committer the user; other authors of the branch are named by "Co-authored-by". message: NULL for
 * that of the branch. ERROR_NOT_FOUND names a path or hunk that is not there, ERROR_INVALID a hunk of what is
 * no text. It has no ref until it is landed. */
int review_commit_picks(const char *quarantine, const char *tip_hex, const struct review_pick *picks,
                        size_t count, const struct review_identity *committer, const char *message,
                        char ret_hex[REVIEW_HEX_SIZE], struct error **err);
/* Refuses symbolic links that lead out of the tree and that the commit adds or changes, unless their path
 * (safe form) is among `allowed` (NULL-ended, or NULL): ERROR_DENIED names them. Out means: absolute, above
 * the top, into a ".git", or "..", after a name, of which nobody can say where it leads. */
int review_check_links(const char *quarantine, const char *tip_hex, const char *const *allowed,
                       struct error **err);
/* Whether a link at `path` with this target leads out. */
bool review_link_leads_out(const char *path, const char *target, size_t len);

#endif
