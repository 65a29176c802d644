#include "ui/model/event.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "ui/model/field.h"

#include <stdio.h>
#include <string.h>

#define KINDS_MAX 200
#define NAMES_MAX 5000

void events_init(struct events *events)
{
    *events = (struct events){.room = 1024, .most = EVENTS_MAX, .kind_most = KINDS_MAX, .changed = SIZE_MAX};
    events->ring = xnewn(struct event, events->room);
}

static void event_finish(struct event *event)
{
    free(event->subject);
    free(event->session);
    free(event->actor);
    free(event->detail);
    free(event->text);
    *event = (struct event){0};
}

static void free_strings(char **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

void events_finish(struct events *events)
{
    for (size_t at = events->first; at < events->end; at++)
        event_finish(events_at(events, at));
    free(events->ring);
    free_strings(events->names, events->name_count);
    free(events->begun);
    free(events->complete);
    free_strings(events->kinds, events->kind_count);
    *events = (struct events){0};
}

struct event *events_at(const struct events *events, size_t position)
{
    if (position < events->first || position >= events->end)
        return NULL;
    return &events->ring[position & (events->room - 1)];
}

struct event *events_find(const struct events *events, int64_t seq, size_t *ret_position)
{
    size_t low = events->first, high = events->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct event *event = events_at(events, middle);
        if (event->seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    struct event *event = events_at(events, low);
    if (!event || event->seq != seq)
        return NULL;
    if (ret_position)
        *ret_position = low;
    return event;
}

/* The number of a word in a list, from 1; appended if it is new. 0: the list is full. */
static size_t number_of(char ***list, size_t *count, size_t most, const char *word)
{
    for (size_t i = *count; i-- > 0;)
        if (!strcmp((*list)[i], word))
            return i + 1;
    if (*count >= most)
        return 0;
    *list = xrealloc(*list, *count + 1, sizeof(**list));
    (*list)[(*count)++] = xstrdup(word);
    return *count;
}

const char *event_kind(const struct events *events, const struct event *event)
{
    return event->kind > 0 ? events->kinds[event->kind - 1] : "other";
}

uint32_t events_project(const struct events *events, const char *name)
{
    for (size_t i = 0; i < events->name_count; i++)
        if (!strcmp(events->names[i], name))
            return (uint32_t)i + 1;
    return 0;
}

const struct event *events_command(const struct events *events, uint32_t project, const char *session,
                                   int64_t ts_ns)
{
    for (size_t at = events->end; at-- > events->first;) {
        const struct event *event = events_at(events, at);
        if (event->started && event->project == project && event->session && event->ts_ns <= ts_ns &&
            !strcmp(event->session, session) && event_present(events, event))
            return event;
    }
    return NULL;
}

bool event_present(const struct events *events, const struct event *event)
{
    return !event->project || event->seq >= events->begun[event->project - 1];
}

const char *event_project(const struct events *events, const struct event *event)
{
    return event->project ? events->names[event->project - 1] : "";
}

/* Makes room for one more: a larger ring, or without the oldest. */
static void make_room(struct events *events)
{
    size_t count = events->end - events->first;
    if (count >= events->most) {
        event_finish(events_at(events, events->first));
        events->first++;
        events->dropped++;
        return;
    }
    if (count < events->room)
        return;
    struct event *ring = xnewn(struct event, events->room * 2);
    for (size_t at = events->first; at < events->end; at++)
        ring[at & (events->room * 2 - 1)] = *events_at(events, at);
    free(events->ring);
    events->ring = ring;
    events->room *= 2;
}

static enum event_group group_of(const char *kind)
{
    static const struct {
        const char *prefix;
        enum event_group group;
    } table[] = {{"exec.", EVENT_EXEC},
                 {"lifecycle.", EVENT_LIFECYCLE},
                 {"file.", EVENT_FILE},
                 {"git.", EVENT_GIT},
                 {"finding.", EVENT_FINDING}};
    for (size_t i = 0; i < countof(table); i++)
        if (!strncmp(kind, table[i].prefix, strlen(table[i].prefix)))
            return table[i].group;
    return EVENT_OTHER;
}

static void forget_open(struct events *events, size_t i)
{
    memmove(&events->open[i], &events->open[i + 1], (events->open_count - i - 1) * sizeof(events->open[0]));
    events->open_count--;
}

static void remember_open(struct events *events, size_t position)
{
    if (events->open_count == EVENTS_OPEN)
        forget_open(events, 0);
    events->open[events->open_count++] = position + 1;
}

/* The command that has ended: of that session, else of the same words and begun when this one did. Its place
 * in `open`, or -1. */
static int find_open(const struct events *events, uint32_t project, const char *session, const char *subject,
                     int64_t begun_ns)
{
    int best = -1;
    int64_t distance = INT64_MAX;
    for (size_t i = 0; i < events->open_count; i++) {
        const struct event *event = events_at(events, events->open[i] - 1);
        if (!event || event->project != project)
            continue;
        if (session && event->session && !strcmp(event->session, session))
            return (int)i;
        if (event->session || strcmp(event->subject, subject) != 0)
            continue;
        int64_t apart = event->ts_ns > begun_ns ? event->ts_ns - begun_ns : begun_ns - event->ts_ns;
        if (apart < distance) {
            distance = apart;
            best = (int)i;
        }
    }
    return best;
}

/* Puts an event under the command of its session, if that is here. */
static void adopt(struct events *events, size_t position)
{
    struct event *event = events_at(events, position);
    if (!event->session || event->group == EVENT_EXEC)
        return;
    for (size_t i = events->open_count; i-- > 0;) {
        size_t at = events->open[i] - 1;
        struct event *parent = events_at(events, at);
        if (!parent || parent->project != event->project || !parent->session ||
            strcmp(parent->session, event->session) != 0)
            continue;
        struct event *last = parent->last_child ? events_at(events, parent->last_child - 1) : NULL;
        event->parent = at + 1;
        if (last)
            last->sibling = position + 1;
        else
            parent->child = position + 1;
        parent->last_child = position + 1;
        parent->children++;
        if (at < events->changed)
            events->changed = at;
        return;
    }
}

/* The start of a command gets its end. false: there is no such start. */
static bool join(struct events *events, const json_t *json, const char *kind, uint32_t project,
                 size_t *ret_position)
{
    bool end = !strcmp(kind, "exec.end"), failed = !strcmp(kind, "exec.failed");
    if (!end && !failed)
        return false;
    autofree char *subject = field_text(json, "subject"), *session = field_text(json, "session");
    int64_t ts_ns = field_number(json, "ts_ns", 0), ms = field_number(json, "ms", -1);
    int i = find_open(events, project, *session ? session : NULL, subject, ts_ns - field_ns(ms));
    if (i < 0)
        return false;
    size_t position = events->open[i] - 1;
    struct event *event = events_at(events, position);
    event->ended = true;
    event->with_machine = false;
    event->failed = failed;
    event->ms = ms;
    event->exit = (int)field_number(json, "exit", -1);
    event->timed_out = json_is_true(json_object_get(json_object_get(json, "data"), "timed_out"));
    if (failed)
        event->detail = field_text(json, "verdict");
    if (!event->session && *session)
        event->session = steal(&session);
    forget_open(events, (size_t)i);
    if (position < events->changed)
        events->changed = position;
    *ret_position = position;
    return true;
}

bool events_ends_machine(const char *kind)
{
    static const char *const ends[] = {"lifecycle.stop",  "lifecycle.off",   "lifecycle.crash",
                                       "lifecycle.drop",  "lifecycle.start", "lifecycle.remove",
                                       "lifecycle.create"};
    for (size_t i = 0; i < countof(ends); i++)
        if (!strcmp(kind, ends[i]))
            return true;
    return false;
}

/* Commands end with their machine, whether or not their own end is told, now or when it is up again: also
 * with its memory image, and what was not over when it boots anew ended while nobody saw it. */
static void end_with_machine(struct events *events, const char *kind, uint32_t project)
{
    bool found = events_ends_machine(kind);

    for (size_t i = 0; found && i < events->open_count; i++) {
        size_t position = events->open[i] - 1;
        struct event *event = events_at(events, position);
        if (!event || event->project != project || event->ended)
            continue;
        event->ended = event->with_machine = true;
        if (position < events->changed)
            events->changed = position;
    }
}

/* What is shown of a kind, and of one verdict of it (NULL: of every one); %s is the subject, once. The first
 * that holds is taken. */
static const struct {
    const char *kind, *words, *verdict;
} phrases[] = {
    {"lifecycle.create", N_("project is made from template %s")},
    {"lifecycle.start", N_("machine is started")},
    {"lifecycle.stop", N_("machine is shut down")},
    {"lifecycle.off", N_("machine is off: %s")},
    {"lifecycle.crash", N_("machine crashed: %s")},
    {"lifecycle.pause", N_("machine is paused")},
    {"lifecycle.resume", N_("machine is resumed")},
    {"lifecycle.suspend", N_("machine is being saved")},
    {"lifecycle.saved", N_("machine is saved")},
    {"lifecycle.wake", N_("machine wakes up")},
    {"lifecycle.freeze", N_("machine is frozen for a request")},
    {"lifecycle.thaw", N_("machine is thawed")},
    {"lifecycle.remove", N_("project is removed")},
    {"lifecycle.failed", N_("failed: %s")},
    {"snapshot.made", N_("snapshot %s")},
    {"snapshot.restored", N_("back on %s")},
    {"snapshot.removed", N_("snapshot %s is removed")},
    {"lifecycle.drop", N_("dropped: %s")},
    {"lifecycle.base", N_("base is built of template %s")},
    {"git.clone", N_("git clone %s")},
    {"file.get", N_("copied out %s")},
    {"file.put", N_("copied in %s")},
    {"file.folder", N_("folder made %s")},
    {"file.tcp", N_("connected to port %s")},
    {"file.failed", N_("copy failed: %s")},
    {"egress.open", N_("net %s")},
    {"egress.close", N_("net %s is over")},
    {"egress.deny", N_("net %s is refused")},
    {"egress.request", N_("http %s")},
    {"approval.ask", N_("asks: %s")},
    {"approval.decision", N_("allowed: %s"), "allow"},
    {"approval.decision", N_("denied: %s"), "deny"},
    {"approval.decision", N_("answered: %s")},
    {"approval.gone", N_("asks no more: %s")},
    {"approval.quota", N_("too many questions: %s")},
    {"policy", N_("rules in force: %s"), "loaded"},
    {"policy", N_("rules not taken: %s"), "refused"},
    {"policy.add", N_("rule added: %s")},
    {"policy.remove", N_("rule removed: %s")},
    {"finding.guest", N_("the machine misbehaved: %s")},
    {"finding.chain", N_("the disk's chain: %s")},
    {"finding.kernel", N_("the modules of its kernel %s are missing")},
};

/* NULL: the subject alone says it. */
static char *phrase(const char *kind, const char *verdict, enum event_group group, const char *subject)
{
    for (size_t i = 0; i < countof(phrases); i++)
        if (!strcmp(phrases[i].kind, kind) &&
            (!phrases[i].verdict || (verdict && !strcmp(phrases[i].verdict, verdict))))
            return field_fill(_(phrases[i].words), subject);
    return group == EVENT_EXEC ? NULL : xasprintf("%s  %s", kind, subject);
}

/* What happened, and why. Takes the text; the caller frees. */
static char *says_why(char *own, const char *why)
{
    autofree char *text = own;
    return xasprintf("%s: %s", text, _(why));
}

const char *event_text(const struct event *event)
{
    return event->text ? event->text : event->subject;
}

static void append(struct events *events, const json_t *json, const char *kind, uint32_t project)
{
    make_room(events);
    struct event *event = &events->ring[events->end & (events->room - 1)];
    autofree char *session = field_text(json, "session"), *verdict = field_text(json, "verdict");
    *event = (struct event){
        .seq = field_number(json, "seq", 0),
        .ts_ns = field_number(json, "ts_ns", 0),
        .ms = field_number(json, "ms", -1),
        .subject = field_text(json, "subject"),
        .actor = field_text(json, "actor"),
        .session = *session ? steal(&session) : NULL,
        .detail = *verdict ? steal(&verdict) : NULL,
        .project = project,
        .exit = (int)field_number(json, "exit", -1),
        .group = (uint8_t)group_of(kind),
        .kind = (int16_t)number_of(&events->kinds, &events->kind_count, KINDS_MAX, kind),
    };
    event->text = phrase(kind, event->detail, event->group, event->subject);
    autofree char *why = field_text(json_object_get(json, "data"), "sentence");
    if (*why && event->text)
        event->text = says_why(steal(&event->text), why);
    event->started = !strcmp(kind, "exec.start");
    event->ended = !strcmp(kind, "exec.end") || !strcmp(kind, "exec.failed");
    event->failed = !strcmp(kind, "exec.failed");
    size_t position = events->end++;
    if (events->first == position)
        events->first_seq = event->seq;
    if (event->started)
        remember_open(events, position);
    adopt(events, position);
}

size_t events_take(struct events *events, const json_t *json, bool *ret_new)
{
    int64_t seq = field_number(json, "seq", 0);
    *ret_new = false;
    if (seq <= events->last_seq)
        return SIZE_MAX;
    events->last_seq = seq;
    autofree char *kind = field_text(json, "kind");
    const char *raw = json_string_value(json_object_get(json, "project"));
    size_t names = events->name_count;
    size_t project = raw ? number_of(&events->names, &events->name_count, NAMES_MAX, raw) : 0;
    if (events->name_count > names) {
        events->begun = xrealloc(events->begun, events->name_count, sizeof(*events->begun));
        events->complete = xrealloc(events->complete, events->name_count, sizeof(*events->complete));
        events->begun[names] = 0;
        events->complete[names] = false;
    }
    if (project && !strcmp(kind, "lifecycle.create"))
        events->begun[project - 1] = seq, events->complete[project - 1] = true; /* nothing of it is older */
    size_t position;
    if (join(events, json, kind, (uint32_t)project, &position))
        return position;
    end_with_machine(events, kind, (uint32_t)project);
    append(events, json, kind, (uint32_t)project);
    *ret_new = true;
    return events->end - 1;
}

void event_outcome(const struct event *event, char ret[24])
{
    ret[0] = 0;
    if (event->failed)
        snprintf(ret, 24, "%s", _("failed"));
    else if (event->timed_out)
        snprintf(ret, 24, "%s", _("timed out"));
    else if (event->exit >= 0)
        event->exit ? snprintf(ret, 24, _("exit %d"), event->exit) : snprintf(ret, 24, "%s", _("ok"));
    else if (event->started)
        snprintf(ret, 24, "%s", event->ended ? _("ended") : _("runs"));
}
