#include "daemon/guest_check.h"

#include <string.h>

struct op_info {
    enum guest_result_kind kind;
    bool list;
};
static const struct op_info op_infos[GUEST_OP_COUNT] = {
#define X(name, verb, result, lines) [GUEST_OP_##name] = {result, lines},
    GUEST_OPS(X)
#undef X
};

#define TERMINATED(field) (memchr((field), '\0', sizeof(field)) != NULL)

static bool check_health(const struct guest_health *h)
{
    return h->phase <= PHASE_FAILED && TERMINATED(h->boot_id) && TERMINATED(h->hostname) &&
           TERMINATED(h->kernel) && TERMINATED(h->os) && TERMINATED(h->failed_units) &&
           h->capture <= CAPTURE_OFF && TERMINATED(h->proxy) && TERMINATED(h->capture_reason);
}

static bool check_session(const struct guest_session *s)
{
    return TERMINATED(s->id) && s->id[0] && !strchr(s->id, '/') && s->state <= SESSION_LOST && s->pty <= 1 &&
           s->exit_status >= 0 && s->exit_status <= 255 && s->timed_out <= 1 && TERMINATED(s->command) &&
           TERMINATED(s->cwd) && TERMINATED(s->user) && TERMINATED(s->label);
}

/* A name is one path element; what was asked for by "/" or by "FOLDER/." has no better name than its last
 * part. */
static bool check_name(const struct guest_file *f)
{
    const char *name = f->name;

    if (f->name_len == 0 || f->name_len >= sizeof(f->name) || memchr(name, '\0', f->name_len) ||
        name[f->name_len])
        return false;
    if (f->name_len == 1 && (name[0] == '/' || name[0] == '.'))
        return true;
    return !memchr(name, '/', f->name_len) && strcmp(name, "..") != 0;
}

static bool check_file(const struct guest_file *f)
{
    return f->type > FILE_NONE && f->type <= FILE_OTHER && f->mode <= 0177777 && check_name(f) &&
           f->target_len < sizeof(f->target) && f->target[f->target_len] == '\0';
}

static bool check_repo(const struct guest_repo *r)
{
    return TERMINATED(r->head) && TERMINATED(r->commit) && TERMINATED(r->path) && r->empty <= 1;
}

static bool check_package_host(const struct guest_package_host *h)
{
    return TERMINATED(h->preset) && TERMINATED(h->host) && h->host[0] && h->port && h->port <= UINT16_MAX &&
           h->tls <= 1;
}

static bool check_item(const struct wmsg_item *item)
{
    if (item->ok > 1 || !TERMINATED(item->error_code) || !TERMINATED(item->error_text) ||
        !TERMINATED(item->error_hint))
        return false;
    switch (item->kind) {
    case GUEST_NOTHING:
        return true;
    case GUEST_HEALTH:
        return check_health(&item->u.health);
    case GUEST_SESSION:
        return check_session(&item->u.session);
    case GUEST_FILE:
        return check_file(&item->u.file);
    case GUEST_REPO:
        return check_repo(&item->u.repo);
    case GUEST_PACKAGE_HOST:
        return check_package_host(&item->u.package_host);
    default:
        return false;
    }
}

bool guest_check_message(const void *data, size_t len)
{
    uint32_t type;

    if (len < sizeof(type))
        return false;
    memcpy(&type, data, sizeof(type));
    switch (type) {
    case WMSG_PORT_NEEDED:
    case WMSG_PORT_STATE: {
        const struct wmsg_port *m = data;
        return len == sizeof(*m) && m->port < PORT_COUNT && m->value <= 1 && m->key_count == 0;
    }
    case WMSG_KEY: {
        const struct wmsg_key *m = data;
        return len == sizeof(*m) && m->port < PORT_COUNT;
    }
    case WMSG_ITEM:
    case WMSG_RESULT:
        return len == sizeof(struct wmsg_item) && check_item(data);
    case WMSG_HEAD: {
        const struct wmsg_head *m = data;
        return len == sizeof(*m) && m->status >= 200 && m->status < 300;
    }
    case WMSG_ALERT: {
        const struct wmsg_alert *m = data;
        return len == sizeof(*m) && m->port < PORT_COUNT && TERMINATED(m->text);
    }
    default:
        return guest_check_flow(data, len);
    }
}

bool guest_op_is_list(enum guest_op op)
{
    return op_infos[op].list;
}

bool guest_check_item(const struct wmsg_item *item, enum guest_op op)
{
    if (item->type == WMSG_ITEM)
        return op_infos[op].list && item->ok && item->kind == (uint32_t)op_infos[op].kind;
    if (!item->ok || op_infos[op].list)
        return item->kind == GUEST_NOTHING;
    return item->kind == (uint32_t)op_infos[op].kind;
}
