/* project.h: the table of projects in memory: what is recorded of each, and what libvirt and the guest said
 * last. One mutex, held for moments only, so that `ls` and `show` never wait for a machine. Projects are
 * known by id; their lane (job.h) is the only writer of a record. */
#ifndef HUTCH_DAEMON_PROJECT_H
#define HUTCH_DAEMON_PROJECT_H

#include "daemon/state.h"
#include "vm/vm.h"
#include "worker/proto.h"

#include <jansson.h>

struct project {
    struct record r;
    bool known; /* libvirt has said how the machine is since hutchd started */
    enum vm_state vm;
    enum vm_reason reason;
    bool kvm;
    bool disk_missing; /* the file of its disk was not there when it was looked for last */
    bool trusted;      /* the disk chain of this run was checked: guest bytes may be accepted */
    bool guest_up;     /* control is in step */
    bool have_health;
    struct guest_health health; /* as the guest said last */
    const char *busy;           /* kind of the job that runs, or NULL; static */
    unsigned waiting;           /* questions that wait for a person */
    int64_t accessed;           /* order of use: of two projects with one folder the later one is meant */
};

struct projects;
struct projects *projects_create(void);
void projects_destroy(struct projects *projects);

/* Adds a project (copies the record). ERROR_EXISTS: the name is taken. */
int projects_add(struct projects *projects, const struct record *record, struct error **err);
void projects_remove(struct projects *projects, const char *id);
/* Pointer to a project with the table locked, or NULL (not locked). projects_unlock soon: no call that blocks
 * in between. */
struct project *projects_lock(struct projects *projects, const char *id);
void projects_unlock(struct projects *projects);
/* The same by name or id, as people give it. ERROR_NOT_FOUND offers the nearest name. */
int projects_find(struct projects *projects, const char *name, char ret_id[PROJECT_ID_MAX],
                  struct error **err);
bool projects_find_uuid(struct projects *projects, const char *uuid, char ret_id[PROJECT_ID_MAX]);
/* The project of a folder or (nearest) of its nearest parent. */
bool projects_find_folder(struct projects *projects, const char *folder, bool nearest,
                          char ret_id[PROJECT_ID_MAX]);
/* A project into which the repository of a folder (a full path) was taken in, the newest of them. */
bool projects_find_repository(struct projects *projects, const char *folder, char ret_id[PROJECT_ID_MAX]);
/* All ids in order of creation: an array of *ret_count that the caller frees. */
char (*projects_ids(struct projects *projects, size_t *ret_count))[PROJECT_ID_MAX];
/* Deep copy of a project's record; false if it is gone. record_finish frees. */
bool projects_record(struct projects *projects, const char *id, struct record *ret_record);
/* Replaces the record in the table (copies). */
void projects_put(struct projects *projects, const struct record *record);

/* The word for its state (doc/protocol.md), from what is recorded and what libvirt said. */
const char *project_state(const struct project *project);
/* Its machine exists as a running process: running or paused. */
bool project_alive(const struct project *project);
/* What a command in it fails with when its machine does not run: names the state and the way out. 0 when it
 * runs. */
int project_require_running(const struct project *project, struct error **err);
/* JSON of a project for lists; disk_used: bytes its files take. New reference. */
json_t *project_json(const struct project *project, uint64_t disk_used);

#endif
