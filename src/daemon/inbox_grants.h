/* inbox_grants.h: the store of grants: answers of a person that go on to hold without being a rule. Those of
 * a command or session live in memory alone, the others in state.db. A grant has a word for people: "g12"
 * where it is stored, "m3" where it is not. Loop thread. */
#ifndef HUTCH_DAEMON_INBOX_GRANTS_H
#define HUTCH_DAEMON_INBOX_GRANTS_H

#include "daemon/daemon.h"
#include "policy/grant.h"

#include <jansson.h>

#define INBOX_GRANT_WORD_MAX 24

/* Makes daemon->inbox_grants and reads what is stored. */
int inbox_grants_create(struct daemon *daemon, struct error **err);
void inbox_grants_destroy(struct daemon *daemon);

/* Takes a copy; gives it its number, and writes it down unless it is one of a command or session. */
int inbox_grants_add(struct daemon *daemon, const struct grant *grant, struct error **err);
/* Those that hold, of every project, as policy_decide takes them; borrowed until the next call of this file.
 */
size_t inbox_grants_list(struct daemon *daemon, const struct grant **ret_grants);
/* The newest that the answer to a request made, or NULL; borrowed in the same way. */
const struct grant *inbox_grants_of(struct daemon *daemon, int64_t request);
/* It served. */
void inbox_grants_used(struct daemon *daemon, const struct grant *grant);

/* "g12" or "m3". Returns ret. */
char *inbox_grant_word(const struct grant *grant, char ret[INBOX_GRANT_WORD_MAX]);
/* The rule that says the same, without its end: "allow docs.rs". Returns ret. */
char *inbox_grant_text(const struct grant *grant, char ret[REQUEST_RULE_MAX]);
/* The project's grants that hold, as rows of rules (doc/protocol.md): a new reference. */
json_t *inbox_grants_show(struct daemon *daemon, const char *project);
/* Takes back those of the project that a word ("g12") or text ("allow docs.rs") means, each noted in the
 * journal before; their connections are cut unless something else lets them. *ret_count: how many. */
int inbox_grants_revoke(struct daemon *daemon, const char *project, const char *word, size_t *ret_count,
                        struct error **err);

/* A session ended, or (session NULL) a boot, or a snapshot was gone back to: what was bound to it ends, and
 * its connections with it. */
void inbox_grants_ended(struct daemon *daemon, const char *project, const char *session);
/* The project is removed: all of its grants. */
void inbox_grants_forget(struct daemon *daemon, const char *project);

#endif
