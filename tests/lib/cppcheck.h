/* cppcheck.h: read by cppcheck before each source: what its parser cannot see through, in plain words. Stands
 * for base/cleanup.h, for attributes and for sys/queue.h, which it does not read. */
#define HUTCH_BASE_CLEANUP_H
#define autofree
#define autoclose
#define autofclose
#define auto(name)
#define AUTO_DEFINE(name, type, destroy) struct cleanup_##name##_semicolon
#define steal(pp)                        (*(pp))
#define steal_fd(fd)                     (*(fd))
#define __attribute__(list)
#define QUEUE_HEAD(name, type)                                                                               \
    struct name {                                                                                            \
        struct type *first;                                                                                  \
    }
#define QUEUE_ENTRY(type)                                                                                    \
    struct {                                                                                                 \
        struct type *next;                                                                                   \
    }
#define QUEUE_FOREACH(variable, head, field)                                                                 \
    for (variable = (head)->first; variable; variable = variable->field.next)
#define LIST_HEAD(name, type)                 QUEUE_HEAD(name, type)
#define LIST_ENTRY(type)                      QUEUE_ENTRY(type)
#define LIST_FOREACH(variable, head, field)   QUEUE_FOREACH(variable, head, field)
#define STAILQ_HEAD(name, type)               QUEUE_HEAD(name, type)
#define STAILQ_ENTRY(type)                    QUEUE_ENTRY(type)
#define STAILQ_FOREACH(variable, head, field) QUEUE_FOREACH(variable, head, field)
#define TAILQ_HEAD(name, type)                QUEUE_HEAD(name, type)
#define TAILQ_ENTRY(type)                     QUEUE_ENTRY(type)
#define TAILQ_FOREACH(variable, head, field)  QUEUE_FOREACH(variable, head, field)
#define TAILQ_FOREACH_SAFE(variable, head, field, following)                                                 \
    for (variable = (head)->first; variable; variable = following)
