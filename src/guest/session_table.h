/* session_table.h: which sessions there are. The folder is the table: hutch-guest itself keeps none, so a new
 * one finds what the one before it started. */
#ifndef HUTCH_GUEST_SESSION_TABLE_H
#define HUTCH_GUEST_SESSION_TABLE_H

#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>

#define SESSIONS_LIVE_MAX  64
#define SESSIONS_ENDED_MAX 64
#define SESSION_ID_MAX     35

/* Letters, digits, - and _, 1 to SESSION_ID_MAX. */
bool session_id_valid(const char *id);
/* The ids in the folder as a NULL-ended list, oldest first; json_free_strings frees. */
char **session_table_ids(const char *folder);
/* What was last written about a session: the object of the API. lost: its process is gone, so one that had
 * not ended shows the state "lost". NULL when there is nothing. Caller json_decrefs. */
json_t *session_table_read(const char *folder, const char *id, bool lost);
/* Counts the files by state. *ret_oldest_ended: an id that the caller frees, or NULL. */
void session_table_count(const char *folder, size_t *ret_live, size_t *ret_ended, char **ret_oldest_ended);
/* Forgets a session whose process is gone: kills what is left in its cgroup, removes its files. False if
 * there was none. */
bool session_table_forget(const char *folder, const char *id);

#endif
