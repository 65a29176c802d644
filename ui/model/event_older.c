/* Older events that come later: merged into the ring by their numbers. */
#include "ui/model/event.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <string.h>

int64_t events_oldest(const struct events *events, uint32_t project)
{
    for (size_t at = events->first; at < events->end; at++)
        if (events_at(events, at)->project == project)
            return events_at(events, at)->seq;
    return 0;
}

bool events_room(const struct events *events)
{
    return events->end - events->first + EVENTS_PAGE <= events->most;
}

/* The number of a word in a list of the other store, as this store numbers it; 0: it has none. */
static size_t translate(char **list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], word))
            return i + 1;
    return 0;
}

/* Kinds that were not here yet are taken over as well. */
static int16_t translate_kind(struct events *events, const struct events *older, int16_t kind)
{
    const char *word = kind > 0 ? older->kinds[kind - 1] : NULL;
    size_t number = word ? translate(events->kinds, events->kind_count, word) : 0;
    if (!word || number || events->kind_count >= older->kind_most)
        return (int16_t)number;
    events->kinds = xrealloc(events->kinds, events->kind_count + 1, sizeof(*events->kinds));
    events->kinds[events->kind_count++] = xstrdup(word);
    return (int16_t)events->kind_count;
}

/* Where each event of a store stands in the merged one, by its place from the first on. */
struct places {
    const struct events *of;
    size_t *to;
};

static size_t place(const struct places *places, size_t link)
{
    bool here = link > places->of->first && link - 1 < places->of->end;
    return here ? places->to[link - 1 - places->of->first] + 1 : 0;
}

static void move_links(struct event *event, const struct places *places)
{
    event->parent = place(places, event->parent);
    event->child = place(places, event->child);
    event->last_child = place(places, event->last_child);
    event->sibling = place(places, event->sibling);
}

/* An older command without an end: its end stands for itself among the newer ones, or it ended with the
 * machine; else it runs. true: it runs. */
static bool settle_open(struct events *events, struct event *event, bool machine_ended)
{
    for (size_t at = events->first; event->session && at < events->end; at++) {
        struct event *end = events_at(events, at);
        if (end->started || !end->ended || end->project != event->project || !end->session ||
            strcmp(end->session, event->session) != 0)
            continue;
        event->ended = true;
        event->with_machine = false;
        event->failed = end->failed;
        event->timed_out = end->timed_out;
        event->exit = end->exit;
        event->ms = end->ms;
        end->project = 0; /* both are one row */
        return false;
    }
    if (!event->ended && machine_ended)
        event->ended = event->with_machine = true;
    return !event->ended;
}

static bool machine_ended(const struct events *events, uint32_t project)
{
    for (size_t at = events->first; at < events->end; at++) {
        const struct event *event = events_at(events, at);
        if (event->project == project && events_ends_machine(event_kind(events, event)))
            return true;
    }
    return false;
}

/* What runs still, of both; the oldest are forgotten where there are too many. */
static void merge_open(struct events *events, const struct places *old, const struct events *older,
                       const struct places *new)
{
    size_t open[2 * EVENTS_OPEN], count = 0, skip;
    for (size_t i = 0; i < older->open_count; i++) {
        struct event *event = events_at(older, older->open[i] - 1);
        if (event && settle_open(events, event, machine_ended(events, event->project)))
            open[count++] = place(new, older->open[i]);
    }
    for (size_t i = 0; i < events->open_count; i++)
        if (place(old, events->open[i]))
            open[count++] = place(old, events->open[i]);
    skip = count > EVENTS_OPEN ? count - EVENTS_OPEN : 0;
    memcpy(events->open, open + skip, (count - skip) * sizeof(open[0]));
    events->open_count = count - skip;
}

void events_merge(struct events *events, struct events *older)
{
    size_t had = events->end - events->first, come = older->end - older->first, room = 1024;
    while (room < had + come)
        room *= 2;
    struct event *ring = xnewn(struct event, room);
    autofree size_t *old_to = xnewn(size_t, had + 1), *new_to = xnewn(size_t, come + 1);
    struct places old = {events, old_to}, new = {older, new_to};
    size_t i = 0, k = 0, at;
    for (at = 0; at < had + come; at++) {
        bool newer = k == come || (i < had && events_at(events, events->first + i)->seq <
                                                  events_at(older, older->first + k)->seq);
        if (newer)
            old_to[i++] = at;
        else
            new_to[k++] = at;
    }
    for (k = 0; k < come; k++) {
        struct event *event = events_at(older, older->first + k);
        const char *name = event_project(older, event);
        event->kind = translate_kind(events, older, event->kind);
        event->project = (uint32_t)translate(events->names, events->name_count, name);
    }
    merge_open(events, &old, older, &new);
    for (i = 0; i < had; i++) {
        ring[old_to[i]] = *events_at(events, events->first + i);
        move_links(&ring[old_to[i]], &old);
    }
    for (k = 0; k < come; k++) {
        ring[new_to[k]] = *events_at(older, older->first + k);
        move_links(&ring[new_to[k]], &new);
    }
    for (k = 0; k < older->name_count; k++) {
        size_t number = translate(events->names, events->name_count, older->names[k]);
        if (number && older->begun[k] > events->begun[number - 1])
            events->begun[number - 1] = older->begun[k];
        if (number && older->complete[k])
            events->complete[number - 1] = true;
    }
    free(events->ring);
    events->ring = ring;
    events->room = room;
    events->first = 0;
    events->end = had + come;
    events->first_seq = had + come ? ring[0].seq : 0;
    events->changed = 0;
    older->end = older->first; /* they are here now */
}
