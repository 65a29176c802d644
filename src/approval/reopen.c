/* An allowance that could not be carried out after it was answered: the question is open again. */
#include "approval/approval_internal.h"

#include "approval/request.h"

int approval_reopen(struct approval *approval, const struct approval_request *answered, const char *why,
                    struct error **err)
{
    struct approval_request again = {0};
    int rc;

    if (approval_find_key(approval, answered->project, answered->verb, answered->key))
        return error_set(err, ERROR_EXISTS, "the same is asked under another number already");
    request_copy(&again, answered);
    again.state = APPROVAL_WAITING;
    again.changed_ms = approval_now(approval);
    request_text(&again.reason, why);
    request_text(&again.by, "");
    request_bind(&again);
    rc = approval->ops.save(&again, approval->user, err);
    if (rc == 0)
        rc = approval_restore(approval, &again, err);
    if (rc == 0) {
        approval->ops.journal("approval.failed", &again, approval->user, NULL);
        approval->ops.changed(approval_find(approval, again.id), approval->user);
    }
    request_finish(&again);
    return rc;
}
