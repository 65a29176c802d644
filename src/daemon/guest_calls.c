#include "daemon/guest_calls.h"

#include "base/alloc.h"
#include "base/text.h"
#include "daemon/guest_check.h"

struct running_call {
    TAILQ_ENTRY(running_call) link;
    uint32_t id, flags, items;
    enum guest_op op;
    bool head_seen;
    const struct guest_call_ops *ops;
    void *user;
};

void guest_calls_init(struct guest_calls *calls)
{
    *calls = (struct guest_calls){0};
    TAILQ_INIT(&calls->list);
}

static struct running_call *find(const struct guest_calls *calls, uint32_t id)
{
    struct running_call *call = TAILQ_FIRST(&calls->list);

    while (call && call->id != id)
        call = TAILQ_NEXT(call, link);
    return call;
}

bool guest_calls_has(const struct guest_calls *calls, uint32_t id)
{
    return find(calls, id) != NULL;
}

uint32_t guest_calls_add(struct guest_calls *calls, const struct guest_call *call,
                         const struct guest_call_ops *ops, void *user)
{
    struct running_call *entry = xnew(struct running_call);

    do {
        entry->id = ++calls->last_id;
    } while (!entry->id || find(calls, entry->id));
    entry->op = call->op;
    entry->flags = call->flags;
    entry->ops = ops;
    entry->user = user;
    TAILQ_INSERT_TAIL(&calls->list, entry, link);
    calls->count++;
    return entry->id;
}

/* Takes the call off the list, then tells its owner. */
static void end_call(struct guest_calls *calls, struct running_call *call, const struct wmsg_item *item,
                     const struct error *err)
{
    const struct guest_call_ops *ops = call->ops;
    void *user = call->user;

    TAILQ_REMOVE(&calls->list, call, link);
    calls->count--;
    free(call);
    ops->on_result(err ? NULL : item, err, user);
}

void guest_calls_fail(struct guest_calls *calls, const char *why)
{
    struct running_call *call;

    while ((call = TAILQ_FIRST(&calls->list))) {
        auto(error) struct error *err = NULL;
        error_set(&err, ERROR_GUEST, "%s", why);
        end_call(calls, call, NULL, err);
    }
}

/* The code a guest gave, unless it is one that only hutchd's own decisions have. */
static enum error_code guest_code(const char *name)
{
    enum error_code code = error_code_from_name(name);

    switch (code) {
    case ERROR_NO_DAEMON:
    case ERROR_WOULD_ASK:
    case ERROR_WOULD_LOSE:
    case ERROR_WOULD_SNAPSHOT:
    case ERROR_CHANGES:
    case ERROR_HYPERVISOR:
    case ERROR_NONE:
        return ERROR_GUEST;
    default:
        return code;
    }
}

/* The refusal in a result; its text is a guest's and becomes safe here. */
static int take_refusal(const struct wmsg_item *item, struct error **err)
{
    autofree char *text = text_safe(item->error_text);
    autofree char *hint = text_safe(item->error_hint);
    int rc = error_set(err, guest_code(item->error_code), "%s", text);

    if (*hint)
        error_hint(err, "%s", hint);
    return rc;
}

bool guest_calls_take(struct guest_calls *calls, const struct wmsg_item *item)
{
    struct running_call *call = find(calls, item->id);
    auto(error) struct error *err = NULL;

    if (!call || !guest_check_item(item, call->op))
        return false;
    if (item->type == WMSG_ITEM) {
        if (++call->items > WMSG_ITEMS_MAX)
            return false;
        if (call->ops->on_item)
            call->ops->on_item(item, call->user);
        return true;
    }
    if (!item->ok)
        take_refusal(item, &err);
    end_call(calls, call, item, err);
    return true;
}

bool guest_calls_take_head(struct guest_calls *calls, const struct wmsg_head *head)
{
    struct running_call *call = find(calls, head->id);

    if (!call || !(call->flags & (WCALL_STREAM_IN | WCALL_STREAM_OUT)) || call->head_seen)
        return false;
    call->head_seen = true;
    if (call->ops->on_head)
        call->ops->on_head(head, call->user);
    return true;
}
