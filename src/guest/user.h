/* user.h: the guest's users, read from its own /etc/passwd and /etc/group: a static binary has no NSS. */
#ifndef HUTCH_GUEST_USER_H
#define HUTCH_GUEST_USER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define USER_NAME_MAX   64
#define USER_GROUPS_MAX 256
#define USER_DEFAULT    "agent"

struct user {
    char *name;
    char *home;
    char *shell;
    uid_t uid;
    gid_t gid;
    gid_t groups[USER_GROUPS_MAX]; /* gid is one of them */
    size_t group_count;
};

/* By name, or by number in decimal. name NULL: when we are root the user `agent` if there is one, else root;
 * otherwise the user that we are. ERROR_NOT_FOUND names the user. Caller calls user_free. */
int user_find(const char *name, struct user **ret_user, struct error **err);
int user_find_uid(uid_t uid, struct user **ret_user, struct error **err);
void user_free(struct user *user);
AUTO_DEFINE(user, struct user *, user_free);
/* The user's environment as a fresh NULL-ended list: HOME USER LOGNAME SHELL PATH LANG, with what
 * /etc/environment and /etc/default/locale (or /etc/locale.conf) set. bin is put at the end of PATH (NULL:
 * not). Free with user_free_environment. */
char **user_environment(const struct user *user, const char *bin);
void user_free_environment(char **environment);
/* Sets or replaces K=V in such a list. */
void user_set_environment(char ***environment, const char *key, const char *value);
/* Becomes the user for good: groups, gid, uid. ERROR_DENIED if we are another user and not root.
 * Async-signal-safe but for the error. */
int user_become(const struct user *user, struct error **err);

#endif
