/* files.c: the file and tar routes: each is a helper process (task.h) that is the user. Without a user in the
 * query what only reads is root, what writes is the default user. */
#include "guest/api.h"
#include "guest/task.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINES "application/x-ndjson"

/* Who reads: root sees everything; without root there is only one user. */
static const char *reader(const struct call *call)
{
    const char *user = query_get(&call->query, "user");
    return user ? user : geteuid() == 0 ? "root" : NULL;
}

static const char *writer(const struct call *call)
{
    return query_get(&call->query, "user");
}

/* The path of the query, or NULL and the call is answered. */
static const char *path_of(struct call *call)
{
    const char *path = NULL;
    struct error *err = NULL;

    if (query_path(&call->query, &path, &err))
        call_fail(call, err);
    return path;
}

static void read_job(struct call *call, const char *verb, enum task_shape shape, const char *content_type)
{
    const char *path = path_of(call);
    if (!path)
        return;
    const char *const argv[] = {verb, path, NULL};
    const struct task_options options = {
        .shape = shape, .user = reader(call), .argv = argv, .own = true, .content_type = content_type};
    task_start(call, &options);
}

void files_stat(struct call *call)
{
    read_job(call, "stat", TASK_LINE, NULL);
}

void files_list(struct call *call)
{
    read_job(call, "list", TASK_OUT, LINES);
}

void files_read(struct call *call)
{
    read_job(call, "read", TASK_OUT, NULL);
}

static void write_job(struct call *call, const char *verb, mode_t mode, bool commit)
{
    const char *path = path_of(call);
    char octal[16];
    struct error *err = NULL;

    if (!path)
        return;
    if (query_mode(&call->query, &mode, &err)) {
        call_fail(call, err);
        return;
    }
    snprintf(octal, sizeof(octal), "%04o", (unsigned)mode);
    const char *const argv[] = {verb, path, octal, NULL};
    const struct task_options options = {
        .shape = TASK_IN, .user = writer(call), .argv = argv, .own = true, .commit = commit};
    task_start(call, &options);
}

void files_write(struct call *call)
{
    write_job(call, "write", 0644, true);
}

void files_folder(struct call *call)
{
    write_job(call, "folder", 0755, false);
}

void tar_out(struct call *call)
{
    read_job(call, "tar-out", TASK_OUT, NULL);
}

void tar_in(struct call *call)
{
    const char *path = path_of(call);
    if (!path)
        return;
    const char *const argv[] = {"tar-in", path, NULL};
    const struct task_options options = {.shape = TASK_IN, .user = writer(call), .argv = argv, .own = true};
    task_start(call, &options);
}
