/* inbox_settings.h: [approvals] of the user's hutch.ini and, before it, of projects/NAME.ini. */
#ifndef HUTCH_DAEMON_INBOX_SETTINGS_H
#define HUTCH_DAEMON_INBOX_SETTINGS_H

#include "approval/approval.h"
#include "base/paths.h"

struct inbox_settings {
    bool away_freezes;           /* what happens when nobody attends: freeze, else refuse */
    unsigned hold_ms, freeze_ms; /* how long an act is held; how long the machine stands still */
};

/* As the files say now. On an error, which names file and line, *ret_settings has the defaults (which refuse
 * when nobody attends). */
int inbox_settings_load(const struct paths *paths, const char *project /* its name */,
                        struct inbox_settings *ret_settings, struct error **err);

#endif
