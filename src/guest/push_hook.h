/* push_hook.h: the program under the names of git's hooks `update` and `post-receive`, which git runs when
 * something in the machine pushes into a bare repository of ours. What they print is what `git push` shows.
 */
#ifndef HUTCH_GUEST_PUSH_HOOK_H
#define HUTCH_GUEST_PUSH_HOOK_H

#include "guest/place.h"

/* update REF OLD NEW: 1, with the reason, for what the host would not take: a deletion, what is neither
 * branch nor tag, a name that cannot be named. */
int push_hook_update(int argc, char **argv);
/* post-receive: tells the host, and says under which numbers it waits for review. The push has happened: it
 * always ends with 0. */
int push_hook_told(int argc, char **argv);
/* Makes the folder of these hooks below the state folder; silent where it cannot be written yet. */
void push_hook_link(const struct place *place);
/* That folder; caller frees. */
char *push_hook_folder(const char *state);

#endif
