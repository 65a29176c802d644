/* The prompt of one request: what guards it, its keys, the answers. */
#include "ui/model/app_state.h"
#include "ui/model/field.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"

#include <string.h>

static void drop_likes(struct prompt *prompt)
{
    for (size_t i = 0; i < prompt->like_count; i++) {
        free(prompt->likes[i].subject);
        free(prompt->likes[i].nonce);
        free(prompt->likes[i].digest);
    }
    prompt->like_count = 0;
    prompt->like = false;
}

void prompt_finish(struct prompt *prompt)
{
    char *strings[] = {prompt->nonce,   prompt->digest,      prompt->state,
                       prompt->project, prompt->raw_project, prompt->host};
    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
    for (size_t i = 0; i < prompt->count; i++) {
        free(prompt->lines[i].label);
        free(prompt->lines[i].text);
        free(prompt->lines[i].note);
    }
    free(prompt->lines);
    json_decref(prompt->json);
    drop_likes(prompt);
    *prompt = (struct prompt){0};
}

/* ---- the guard ---- */

/* What is shown is not what was: it must be looked at anew. */
static void guard(struct app *app, int64_t for_ns)
{
    struct prompt *prompt = &app->inbox.prompt;
    prompt->drawn_ns = 0;
    prompt->guard_ns = for_ns;
    prompt->end_seen = false;
    prompt->top = 0;
    prompt->pending = ACTION_NONE;
    prompt->yes = false;
    if (app->input_use == INPUT_REASON || app->input_use == INPUT_ALLOW)
        app->input_use = INPUT_NONE;
    app->changed = true;
}

void prompt_drawn(struct app *app, int total, int room)
{
    struct prompt *prompt = &app->inbox.prompt;
    int most = total > room ? total - room : 0;
    if (!prompt->json)
        return;
    prompt->total = total;
    prompt->room = room;
    if (prompt->top > most)
        prompt->top = most;
    if (!prompt->drawn_ns)
        prompt->drawn_ns = app->now_ns;
    if (prompt->top == most && room > 0)
        prompt->end_seen = true;
}

int64_t prompt_due(const struct app *app)
{
    const struct prompt *prompt = &app->inbox.prompt;
    int64_t due = prompt->drawn_ns + prompt->guard_ns;
    bool shown = app->overlay_count && app_view(app) == VIEW_REQUEST;
    return shown && prompt->drawn_ns && due > app->now_ns ? due : 0;
}

static bool is_answer(enum action action)
{
    return action >= ACTION_REQUEST_DENY && action <= ACTION_REQUEST_LIKE;
}

static unsigned scope_of(enum action action)
{
    return action == ACTION_REQUEST_ONCE      ? REQUEST_ONCE
           : action == ACTION_REQUEST_SESSION ? REQUEST_SESSION
           : action == ACTION_REQUEST_PROJECT ? REQUEST_PROJECT
                                              : 0;
}

static const char *able_to_allow(const struct prompt *prompt, unsigned scope)
{
    if (!prompt->end_seen)
        return _("there is more below: scroll to its end first (Down), nothing is allowed unseen");
    if (prompt->too_long)
        return _("its command is too long to be judged here: deny it, or write the rule yourself");
    if (!(prompt->scopes & scope))
        return _("that is not offered for this request");
    return NULL;
}

const char *prompt_able(const struct app *app, enum action action)
{
    const struct prompt *prompt = &app->inbox.prompt;
    if (!prompt->json)
        return _("it is not known yet");
    if (action == ACTION_REQUEST_NEXT)
        return app->inbox.count > 1 ? NULL : _("no other request waits");
    if (!is_answer(action))
        return NULL;
    if (!app->up)
        return _("hutchd is away; it works again when it is back");
    if (prompt->sent)
        return _("the answer is on its way");
    if (!prompt->drawn_ns || app->now_ns < prompt->drawn_ns + prompt->guard_ns)
        return _("too early, nothing was answered: it has just come up");
    if (action == ACTION_REQUEST_LIKE)
        return app->inbox.count < 2               ? _("no other request waits")
               : prompt->class == REQUEST_ROUTINE ? NULL
                                                  : _("only routine requests are answered together");
    return scope_of(action) ? able_to_allow(prompt, scope_of(action)) : NULL;
}

/* ---- asking for it ---- */

static void ask(struct app *app, struct effects *effects);

/* Nothing is shown any more, or the next one that waits. */
static void go_on(struct app *app, uint64_t id, struct effects *effects)
{
    struct inbox *inbox = &app->inbox;
    uint64_t next = inbox_next_line(inbox, id);
    for (size_t i = 0; i < inbox->count && !next; i++)
        next = inbox->list[i].id != id ? inbox->list[i].id : 0;
    if (next) {
        prompt_show(app, next, effects);
        inbox->prompt.guard_ns = PROMPT_GUARD_NS;
        return;
    }
    app_cancel(app, inbox->prompt.call, effects);
    prompt_finish(&inbox->prompt);
    list_restart(&app->lists[VIEW_REQUEST]);
    if (app->overlay_count && app_view(app) == VIEW_REQUEST)
        app_pop(app, effects);
    app->changed = true;
}

/* It is over, by somebody else or by itself: says how. */
static void closed(struct app *app, const json_t *json, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    autofree char *state = field_text(json, "state"), *by = field_text(json, "by");
    autofree char *reason = field_text(json, "reason");
    long long id = (long long)prompt->id;
    go_on(app, prompt->id, effects);
    if (!strcmp(state, "allowed"))
        app_say(app, STYLE_WARN, _("#%lld was allowed elsewhere, by %s"), id, by);
    else if (!strcmp(state, "denied"))
        app_say(app, STYLE_WARN, _("#%lld was denied elsewhere, by %s"), id, by);
    else
        app_say(app, STYLE_WARN, _("#%lld is gone: %s"), id, *reason ? reason : _("who asked is no more"));
}

static bool is_open(const json_t *json)
{
    const char *state = json_string_value(json_object_get(json, "state"));
    return state && (!strcmp(state, "held") || !strcmp(state, "frozen") || !strcmp(state, "waiting"));
}

static void set(char **place, const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    free(*place);
    *place = xstrdup(text ? text : "");
}

static unsigned scopes_of(const json_t *json)
{
    static const char *const words[] = {"once", "session", "project"};
    unsigned scopes = 0;
    size_t i;
    const json_t *one, *list = json_object_get(json, "answers");
    json_array_foreach(list, i, one)
    {
        const char *scope = json_string_value(json_object_get(one, "scope"));
        for (size_t j = 0; scope && j < countof(words); j++)
            scopes |= strcmp(scope, words[j]) == 0 ? 1u << j : 0;
    }
    return scopes;
}

/* Takes what hutchd says of it; false: nothing that a person would see differently. */
static bool take_in(struct app *app, const json_t *json)
{
    struct prompt *prompt = &app->inbox.prompt;
    const char *digest = json_string_value(json_object_get(json, "digest"));
    bool other = !prompt->json || !digest || strcmp(prompt->digest, digest) != 0;
    json_decref(prompt->json);
    prompt->json = json_deep_copy(json);
    set(&prompt->nonce, json, "nonce");
    set(&prompt->digest, json, "digest");
    set(&prompt->raw_project, json, "project");
    prompt->project = (free(prompt->project), field_text(json, "project"));
    prompt->state = (free(prompt->state), field_text(json, "state"));
    prompt->class = request_tier(json);
    prompt->scopes = scopes_of(json);
    if (prompt->class != REQUEST_ROUTINE)
        prompt->scopes &= ~(unsigned)REQUEST_PROJECT;
    if (prompt->class == REQUEST_CRITICAL)
        prompt->scopes &= REQUEST_ONCE;
    prompt_build(app, prompt);
    if (other)
        drop_likes(prompt);
    return other;
}

static void take_request(struct app *app, struct call *call, const struct message *message,
                         struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    if (call->number != prompt->id)
        return;
    prompt->call = 0;
    if (message->error) {
        if (message->error->code == ERROR_NOT_FOUND)
            closed(app, NULL, effects);
        else if (app->up)
            app_say_error(app, message->error);
        return;
    }
    if (!is_open(message->body)) {
        closed(app, message->body, effects);
        return;
    }
    bool first = !prompt->json;
    if (!take_in(app, message->body))
        return;
    guard(app, first ? prompt->guard_ns : PROMPT_GUARD_NS);
    app_news(app, VIEW_REQUEST);
    if (!first)
        app_say(app, STYLE_BAD, _("#%lld changed after it was shown: nothing was answered; look again"),
                (long long)prompt->id);
}

static void ask(struct app *app, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    if (!app->up || prompt->call || !prompt->id)
        return;
    autofree char *path = xasprintf("/v1/requests/%llu", (unsigned long long)prompt->id);
    struct call *call = app_call(app, EFFECT_CALL, "GET", path, NULL, take_request, effects);
    call->number = prompt->id;
    prompt->call = call->id;
}

void prompt_show(struct app *app, uint64_t id, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    app_cancel(app, prompt->call, effects);
    prompt_finish(prompt);
    prompt->id = id;
    guard(app, PROMPT_MOVED_NS);
    list_restart(&app->lists[VIEW_REQUEST]);
    ask(app, effects);
}

void prompt_check(struct app *app, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    if (!prompt->id || prompt->sent)
        return;
    app_cancel(app, prompt->call, effects);
    prompt->call = 0;
    ask(app, effects);
}

/* ---- those like it ---- */

static const char *registrable(const json_t *json)
{
    const json_t *site = json_object_get(json_object_get(json, "fields"), "site");
    return json_string_value(json_object_get(site, "registrable"));
}

static bool same_question(const json_t *one, const json_t *other)
{
    int64_t batch = field_number(one, "batch", 0);
    return batch && batch == field_number(other, "batch", 0);
}

static void take_like(struct app *app, struct call *call, const struct message *message,
                      struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    const json_t *json = message->body;
    (void)effects;
    if (!json || !prompt->like || call->entry != prompt->id || !is_open(json) ||
        prompt->like_count == REQUEST_LIKES || request_tier(json) != REQUEST_ROUTINE)
        return;
    const char *one = registrable(json), *other = registrable(prompt->json);
    bool site = one && other && strcmp(one, other) == 0;
    if (!site && !same_question(json, prompt->json))
        return;
    struct prompt_like *like = &prompt->likes[prompt->like_count++];
    *like = (struct prompt_like){.id = call->number, .subject = field_text(json, "subject")};
    set(&like->nonce, json, "nonce");
    set(&like->digest, json, "digest");
    prompt_build(app, prompt);
    guard(app, PROMPT_GUARD_NS); /* it says more now */
}

static void toggle_like(struct app *app, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    const struct request_row *own = inbox_find(&app->inbox, prompt->id);
    bool on = !prompt->like;
    drop_likes(prompt);
    prompt->like = on;
    prompt_build(app, prompt);
    guard(app, PROMPT_MOVED_NS);
    for (size_t i = 0, asked = 0; own && on && i < app->inbox.count && asked < REQUEST_LIKES; i++) {
        const struct request_row *row = &app->inbox.list[i];
        if (row->id == own->id || row->class != REQUEST_ROUTINE ||
            strcmp(row->raw_project, own->raw_project) != 0 || strcmp(row->kind, own->kind) != 0)
            continue;
        autofree char *path = xasprintf("/v1/requests/%llu", (unsigned long long)row->id);
        struct call *call = app_call(app, EFFECT_CALL, "GET", path, NULL, take_like, effects);
        call->number = row->id;
        call->entry = prompt->id;
        asked++;
    }
    app_say(app, STYLE_NORMAL,
            on ? _("the answer is for those like it too, which are listed")
               : _("the answer is for it alone"));
}

/* ---- answering ---- */

static const char *scope_word(enum action action)
{
    return action == ACTION_REQUEST_SESSION   ? "session"
           : action == ACTION_REQUEST_PROJECT ? "project"
                                              : "once";
}

/* A word of a command line. The caller's to free. */
static char *quoted(const char *text)
{
    struct buf out;
    buf_init(&out, 0);
    buf_printf(&out, NULL, "'");
    for (; *text; text++)
        buf_printf(&out, NULL, *text == '\'' ? "'\\''" : "%c", *text);
    buf_printf(&out, NULL, "'");
    return buf_take_string(&out);
}

static char *twin_of(uint64_t id, enum action action, const char *reason)
{
    if (scope_of(action))
        return xasprintf("hutch allow %llu --for %s", (unsigned long long)id, scope_word(action));
    autofree char *words = reason && *reason ? quoted(reason) : NULL;
    return xasprintf("hutch deny %llu%s%s", (unsigned long long)id, words ? " -m " : "", words ? words : "");
}

char *prompt_twin(const struct app *app, enum action action)
{
    return is_answer(action) && action != ACTION_REQUEST_LIKE && action != ACTION_REQUEST_RULE
               ? twin_of(app->inbox.prompt.id, action, NULL)
               : NULL;
}

static void take_answered(struct app *app, struct call *call, const struct message *message,
                          struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    bool shown = call->number == prompt->id;
    act_log_end(app, call->entry, message->error, NULL);
    if (shown)
        prompt->sent = false;
    inbox_ask(app, effects);
    if (message->error && message->error->code == ERROR_CHANGES && shown) {
        prompt_check(app, effects);
    } else if (message->error) {
        app_say_error(app, message->error);
        if (shown && message->error->code == ERROR_STATE)
            go_on(app, call->number, effects);
    } else {
        if (shown)
            go_on(app, call->number, effects);
        app_say(app, STYLE_GOOD, scope_of(call->action) ? _("#%llu is allowed%s") : _("#%llu is denied%s"),
                (unsigned long long)call->number, call->data ? (const char *)call->data : "");
    }
}

static void send(struct app *app, uint64_t id, const char *nonce, const char *digest, enum action action,
                 const char *reason, struct effects *effects)
{
    bool allow = scope_of(action) != 0;
    autofree char *path = xasprintf("/v1/requests/%llu/answer", (unsigned long long)id);
    autofree char *twin = twin_of(id, action, reason);
    json_t *body =
        json_pack("{s:s, s:s, s:s}", "verdict", allow ? "allow" : "deny", "nonce", nonce, "digest", digest);
    if (allow)
        json_object_set_new(body, "scope", json_string(scope_word(action)));
    if (reason && *reason)
        json_object_set_new(body, "reason", json_string(reason));
    struct call *call = app_call(app, EFFECT_CALL, "POST", path, body, take_answered, effects);
    call->number = id;
    call->action = action;
    if (action == ACTION_REQUEST_PROJECT && id == app->inbox.prompt.id) {
        autofree char *rule = prompt_rule(app->inbox.prompt.json);
        call->data = xasprintf(_("; added to %s: %s"), app->inbox.prompt.project, rule);
    }
    call->entry = act_log(app, ENTRY_RUNS, twin, "");
}

void prompt_answer(struct app *app, enum action action, const char *reason, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    const char *why = prompt_able(app, action);
    prompt->pending = ACTION_NONE;
    prompt->yes = false;
    if (why) {
        app_say(app, STYLE_WARN, "%s", why);
        return;
    }
    for (size_t i = 0; i < prompt->like_count; i++)
        send(app, prompt->likes[i].id, prompt->likes[i].nonce, prompt->likes[i].digest, action, reason,
             effects);
    send(app, prompt->id, prompt->nonce, prompt->digest, action, reason, effects);
    prompt->sent = true;
}

/* An allow: at once, by `y` Enter, or by the name. */
static void allow(struct app *app, enum action action, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    if (prompt->class == REQUEST_ROUTINE) {
        prompt_answer(app, action, NULL, effects);
        return;
    }
    prompt->pending = action;
    if (prompt->class == REQUEST_CRITICAL)
        app_type(app, INPUT_ALLOW, "");
    else
        app_say(app, STYLE_WARN, _("%s: press y, then Enter; every other key allows nothing"),
                action_label(action));
}

static void show_next(struct app *app, struct effects *effects)
{
    struct inbox *inbox = &app->inbox;
    const struct request_row *own = inbox_find(inbox, inbox->prompt.id);
    uint64_t line = inbox_next_line(inbox, inbox->prompt.id);
    size_t at = 0;
    if (own && line > own->id) { /* the lines of its question first */
        prompt_show(app, line, effects);
        return;
    }
    while (at < inbox->count && inbox->list[at].id != inbox->prompt.id)
        at++;
    if (inbox->count)
        prompt_show(app, inbox->list[at + 1 < inbox->count ? at + 1 : 0].id, effects);
}

static void write_rule(struct app *app)
{
    struct prompt *prompt = &app->inbox.prompt;
    autofree char *missing = field_text(json_object_get(prompt->json, "fields"), "rule_missing");
    rules_write(app, prompt->raw_project, missing);
}

/* To the command that asks: the prompt is left as it is. */
static void to_cause(struct app *app, struct effects *effects)
{
    const struct prompt *prompt = &app->inbox.prompt;
    const struct project *project = projects_named(&app->projects, prompt->raw_project);
    autofree char *session = field_text(prompt->json, "session");
    app_to_command(app, project ? project->number : 0, session, field_number(prompt->json, "asked_ns", 0),
                   effects);
}

bool prompt_do(struct app *app, enum action action, struct effects *effects)
{
    const char *why = prompt_able(app, action);
    if (why) {
        app_say(app, STYLE_WARN, "%s", why);
        return true;
    }
    switch ((int)action) {
    case ACTION_REQUEST_DENY:
        prompt_answer(app, action, NULL, effects);
        return true;
    case ACTION_REQUEST_REASON:
        app_type(app, INPUT_REASON, "");
        return true;
    case ACTION_REQUEST_ONCE:
    case ACTION_REQUEST_SESSION:
    case ACTION_REQUEST_PROJECT:
        allow(app, action, effects);
        return true;
    case ACTION_REQUEST_RULE:
        write_rule(app);
        return true;
    case ACTION_REQUEST_LIKE:
        toggle_like(app, effects);
        return true;
    case ACTION_REQUEST_NEXT:
        show_next(app, effects);
        return true;
    case ACTION_CAUSE:
        to_cause(app, effects);
        return true;
    case ACTION_REQUEST_FIELDS:
        if (prompt_is_push(&app->inbox.prompt)) {
            review_open_prompt(app, effects);
            return true;
        }
        app->doc_view = VIEW_REQUEST;
        app->doc_identity = app->inbox.prompt.id;
        list_restart(&app->lists[VIEW_DETAIL]);
        app_push(app, VIEW_DETAIL, effects);
        return true;
    default:
        return false;
    }
}

void prompt_typed(struct app *app, const char *text, struct effects *effects)
{
    struct prompt *prompt = &app->inbox.prompt;
    if (app->input_use == INPUT_REASON) {
        app->input_use = INPUT_NONE;
        prompt_answer(app, ACTION_REQUEST_REASON, text, effects);
    } else if (app->input_use == INPUT_ALLOW && prompt->host && *prompt->host &&
               !strcmp(text, prompt->host)) {
        app->input_use = INPUT_NONE;
        prompt_answer(app, prompt->pending, NULL, effects);
    } else if (app->input_use == INPUT_ALLOW) {
        app->input_error = (free(app->input_error), xstrdup(_("that is not the name")));
    }
}
