#include "guest/children.h"

#include "base/alloc.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

struct child_watch {
    struct child_watch *next;
    pid_t pid;
    child_exit_fn on_exit;
    void *user;
};

/* Each watched child by its own number: others may be waited for elsewhere (spawn_run on the pool). */
static void on_signal(uv_signal_t *handle, int number)
{
    struct children *children = handle->data;
    struct child_watch **slot = &children->first;

    while (*slot) {
        struct child_watch *watch = *slot;
        int status;
        if (waitpid(watch->pid, &status, WNOHANG) != watch->pid) {
            slot = &watch->next;
            continue;
        }
        *slot = watch->next;
        if (watch->on_exit) {
            watch->on_exit(watch->pid, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
                           watch->user);
            slot = &children->first; /* the callback may have changed the list */
        }
        free(watch);
    }
}

void children_init(struct children *children, uv_loop_t *loop)
{
    children->first = NULL;
    uv_signal_init(loop, &children->signal);
    children->signal.data = children;
    uv_signal_start(&children->signal, on_signal, SIGCHLD);
}

void children_watch(struct children *children, pid_t pid, child_exit_fn on_exit, void *user)
{
    struct child_watch *watch = xnew(struct child_watch);
    watch->pid = pid;
    watch->on_exit = on_exit;
    watch->user = user;
    watch->next = children->first;
    children->first = watch;
}

void children_forget(struct children *children, pid_t pid)
{
    for (struct child_watch *watch = children->first; watch; watch = watch->next)
        if (watch->pid == pid)
            watch->on_exit = NULL;
}

void children_finish(struct children *children)
{
    while (children->first) {
        struct child_watch *next = children->first->next;
        free(children->first);
        children->first = next;
    }
    uv_close((uv_handle_t *)&children->signal, NULL);
}
