#include "ui/term/rescue.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP_MAX 4

/* Until the other end is closed: nobody writes to it. */
static void wait_for_end(int fd)
{
    char byte;
    ssize_t n;
    do
        n = read(fd, &byte, 1);
    while (n > 0 || (n < 0 && errno == EINTR));
}

static _Noreturn void live(int fd, const int *keep, size_t keep_count, void (*last)(void))
{
    int kept[KEEP_MAX + 1] = {fd};
    for (size_t i = 0; i < keep_count; i++)
        kept[i + 1] = keep[i];
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN); /* also of the terminal: it is in the background and sets it nevertheless */
    setpgid(0, 0);               /* what ends a group spares it */
    prctl(PR_SET_NAME, "hutch-rescue");
    fd_close_from(0, kept, keep_count + 1);
    wait_for_end(fd);
    last();
    _exit(0);
}

void rescue_start(struct rescue *rescue, const int *keep, size_t keep_count, void (*last)(void))
{
    int ends[2];
    *rescue = (struct rescue){.fd = -1};
    require(keep_count <= KEEP_MAX);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        live(ends[0], keep, keep_count, last);
    }
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return;
    }
    rescue->pid = pid;
    rescue->fd = ends[1];
}

void rescue_stop(struct rescue *rescue)
{
    if (rescue->pid <= 0)
        return;
    if (waitpid(rescue->pid, NULL, WNOHANG) == 0) { /* else somebody waited for it: its number is free */
        kill(rescue->pid, SIGKILL);
        while (waitpid(rescue->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(rescue->fd);
    *rescue = (struct rescue){.fd = -1};
}
