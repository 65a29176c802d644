/* Routes of hutchd itself: version, status, doctor, end. */
#include "config.h"

#include "base/alloc.h"
#include "base/file.h"
#include "daemon/doctor.h"
#include "daemon/host.h"
#include "daemon/quit.h"
#include "daemon/server.h"
#include "wire/hello.h"
#include "wire/json.h"

#include <unistd.h>

static void show_version(const struct request *request, json_t *body)
{
    struct vm_host_info info;
    bool known = daemon_host_info(request->daemon, &info);
    auto(json) json_t *answer =
        json_pack("{s:s, s:i, s:i, s:s?}", "version", PACKAGE_VERSION, "protocol", HELLO_VERSION, "pid",
                  (int)getpid(), "uri", known ? info.uri : NULL);

    (void)body;
    json_reply(request->stream, 200, answer);
}

static void show_status(const struct request *request, json_t *body)
{
    size_t count, running = 0, waiting = 0;
    autofree char(*ids)[PROJECT_ID_MAX] = projects_ids(request->daemon->projects, &count);
    struct vm_host_info info;
    uint64_t disk_free = 0;
    auto(json) json_t *answer = NULL;
    json_t *host = host_json();

    (void)body;
    for (size_t i = 0; i < count; i++) {
        struct project *project = projects_lock(request->daemon->projects, ids[i]);

        if (!project)
            continue;
        running += project->vm == VM_RUNNING;
        waiting += project->waiting;
        projects_unlock(request->daemon->projects);
    }
    if (file_free_space(request->daemon->paths->data, &disk_free, NULL) == 0)
        json_object_set_new(host, "disk_free", json_integer((json_int_t)disk_free));
    if (daemon_host_info(request->daemon, &info)) {
        json_object_set_new(host, "hypervisor", json_string(info.hypervisor));
        json_object_set_new(host, "uri", json_string(info.uri));
        json_object_set_new(host, "libvirt_version", json_integer((json_int_t)info.libvirt_version));
    }
    answer = json_pack("{s:i, s:i, s:i, s:o}", "projects", (int)count, "running", (int)running, "waiting",
                       (int)waiting, "host", host);
    json_reply(request->stream, 200, answer);
}

static void doctor(const struct request *request, json_t *body)
{
    struct jobs *jobs = request->daemon->jobs;
    struct job *job = job_find(jobs, "doctor", &doctor_kind);

    (void)body;
    job_watch(job ? job : job_submit(jobs, "doctor", &doctor_kind, NULL), request->stream);
}

static void quit(const struct request *request, json_t *body)
{
    auto(error) struct error *err = NULL;
    bool save = false;

    if (json_opt_bool(body, "save", &save, &err) < 0) {
        request_fail(request, err);
        return;
    }
    quit_begin(request->daemon, save, request->stream);
}

const struct route routes_host[] = {
    {"GET", "/v1/version", show_version, false},
    {"GET", "/v1/status", show_status, false},
    {"GET", "/v1/doctor", doctor, false},
    {"POST", "/v1/quit", quit, true},
    {0},
};
