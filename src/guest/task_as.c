#include "base/alloc.h"
#include "base/fd.h"
#include "guest/cgroup.h"
#include "guest/file_job.h"
#include "guest/task.h"
#include "guest/user.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int task_report(const struct error *err)
{
    auto(json) json_t *object = json_from_error(err);
    autofree char *text = json_text(object);

    fd_write_all(2, text, strlen(text), NULL);
    return 1;
}

/* Out of hutch-guest's own protection and group, into those of the guest's work. */
static void leave_agent(void)
{
    cgroup_oom_score("0");
    if (cgroup_make(CGROUP_TASKS))
        cgroup_enter(CGROUP_TASKS);
    umask(022);
}

int task_as_main(int argc, char **argv)
{
    auto(user) struct user *user = NULL;
    auto(error) struct error *err = NULL;

    if (argc < 4)
        return 2;
    leave_agent();
    if (user_find(!strcmp(argv[1], "-") ? NULL : argv[1], &user, &err) || user_become(user, &err))
        return task_report(err);
    environ = user_environment(user, NULL);
    if (!strcmp(argv[2], "file"))
        return file_job_main(argc - 3, argv + 3);
    if (chdir(user->home) && chdir("/"))
        error_set_errno(&err, errno, "cannot enter '/'");
    if (!err) {
        execvp(argv[3], argv + 3);
        error_set(&err, errno == ENOENT ? ERROR_MISSING : ERROR_FAILED, "the machine cannot run '%s': %s",
                  argv[3], strerror(errno));
        if (errno == ENOENT)
            error_hint(&err, "install the package that has '%s' in the machine", argv[3]);
    }
    return task_report(err);
}
