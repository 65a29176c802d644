#include "vm/fake.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/units.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define STORE_SIZE_MAX ((size_t)1 << 20)

uint64_t fake_process_started(pid_t pid)
{
    autofree char *path = xasprintf("/proc/%d/stat", (int)pid);
    autofree char *text = NULL;
    size_t len;
    uint64_t value = 0;
    if (pid <= 0 || file_read(path, 4096, &text, &len, NULL) < 0)
        return 0;
    /* the name in brackets may hold anything; the state is field 3, the start time field 22 */
    char *p = strrchr(text, ')');
    if (!p || p[1] != ' ' || p[2] == 'Z')
        return 0;
    p += 2;
    for (int field = 3; field < 22; field++) {
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    p[strcspn(p, " ")] = '\0';
    return units_parse_number(p, 1, UINT64_MAX, &value, NULL) == 0 ? value : 0;
}

bool fake_machine_alive(const struct fake_machine *machine)
{
    return machine->pid > 0 && fake_process_started(machine->pid) == machine->started;
}

static void machine_finish(struct fake_machine *machine)
{
    for (size_t i = 0; i < countof(machine->ports); i++)
        free(machine->ports[i]);
    free(machine->console_log);
    vm_free_chain(machine->chain);
    *machine = (struct fake_machine){0};
}

void fake_store_finish(struct fake_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        machine_finish(&store->machines[i]);
    free(store->path);
    *store = (struct fake_store){0};
}

struct fake_machine *fake_store_find(struct fake_store *store, const char *uuid)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->machines[i].info.uuid, uuid) == 0)
            return &store->machines[i];
    return NULL;
}

int fake_store_put(struct fake_store *store, const struct vm_spec *spec, struct error **err)
{
    struct fake_machine *machine = fake_store_find(store, spec->uuid);
    size_t layers = 0;
    if (!machine && store->count == FAKE_MACHINES_MAX)
        return error_set(err, ERROR_LIMIT, "the fake has no more than %d machines", FAKE_MACHINES_MAX);
    struct fake_machine fresh = {.info = {.state = VM_OFF}};
    if (!machine)
        machine = &store->machines[store->count++];
    else
        fresh =
            (struct fake_machine){.info = machine->info, .pid = machine->pid, .started = machine->started};
    snprintf(fresh.info.uuid, sizeof(fresh.info.uuid), "%s", spec->uuid);
    snprintf(fresh.info.name, sizeof(fresh.info.name), "%s", spec->name);
    snprintf(fresh.info.project, sizeof(fresh.info.project), "%s", spec->project);
    for (size_t i = 0; i < countof(fresh.ports); i++)
        fresh.ports[i] = xstrdup(spec->ports[i]);
    fresh.console_log = xstrdup(spec->console_log);
    while (spec->chain && spec->chain[layers])
        layers++;
    fresh.chain = xnewn(char *, layers + 1);
    for (size_t i = 0; i < layers; i++)
        fresh.chain[i] = xstrdup(spec->chain[i]);
    machine->info = (struct vm_info){0};
    machine_finish(machine);
    *machine = fresh;
    return 0;
}

void fake_store_remove(struct fake_store *store, const char *uuid)
{
    struct fake_machine *machine = fake_store_find(store, uuid);
    if (!machine)
        return;
    machine_finish(machine);
    *machine = store->machines[--store->count];
    store->machines[store->count] = (struct fake_machine){0};
}

/* A list of strings as JSON. */
static json_t *list_of(char *const *strings, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && strings[i]; i++)
        json_array_append_new(list, json_string(strings[i]));
    return list;
}

int fake_store_save(const struct fake_store *store, struct error **err)
{
    json_t *root = json_array();
    for (size_t i = 0; i < store->count; i++) {
        const struct fake_machine *machine = &store->machines[i];
        json_t *item =
            json_pack("{ss ss ss si si sb si sI so so ss}", "uuid", machine->info.uuid, "name",
                      machine->info.name, "project", machine->info.project, "state", (int)machine->info.state,
                      "reason", (int)machine->info.reason, "managed_save",
                      (int)machine->info.has_managed_save, "pid", (int)machine->pid, "started",
                      (json_int_t)machine->started, "ports", list_of(machine->ports, countof(machine->ports)),
                      "chain", list_of(machine->chain, SIZE_MAX), "console_log", machine->console_log);
        require(item != NULL);
        json_array_append_new(root, item);
    }
    char *text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    require(text != NULL);
    int rc = file_replace(store->path, text, strlen(text), 0600, err);
    free(text);
    return rc;
}

/* Fills a machine from its JSON; false if a member is missing. */
static bool read_machine(json_t *item, struct fake_machine *machine)
{
    const char *uuid, *name, *project, *console_log;
    int state, reason, managed_save, pid;
    json_int_t started;
    json_t *ports, *chain;
    if (json_unpack(item, "{ss ss ss si si sb si sI so so ss}", "uuid", &uuid, "name", &name, "project",
                    &project, "state", &state, "reason", &reason, "managed_save", &managed_save, "pid", &pid,
                    "started", &started, "ports", &ports, "chain", &chain, "console_log", &console_log) < 0)
        return false;
    snprintf(machine->info.uuid, sizeof(machine->info.uuid), "%s", uuid);
    snprintf(machine->info.name, sizeof(machine->info.name), "%s", name);
    snprintf(machine->info.project, sizeof(machine->info.project), "%s", project);
    machine->info.state = (enum vm_state)state;
    machine->info.reason = (enum vm_reason)reason;
    machine->info.has_managed_save = managed_save;
    machine->pid = pid;
    machine->started = (uint64_t)started;
    machine->console_log = xstrdup(console_log);
    for (size_t i = 0; i < countof(machine->ports); i++)
        machine->ports[i] = xstrdup(json_string_value(json_array_get(ports, i)));
    machine->chain = xnewn(char *, json_array_size(chain) + 1);
    for (size_t i = 0; i < json_array_size(chain); i++)
        machine->chain[i] = xstrdup(json_string_value(json_array_get(chain, i)));
    return true;
}

int fake_store_load(struct fake_store *store, const char *folder, struct error **err)
{
    autofree char *text = NULL;
    json_error_t json_error;
    size_t len;

    *store = (struct fake_store){.path = file_join(folder, "fake.json")};
    if (!file_exists(store->path))
        return 0;
    int rc = file_read(store->path, STORE_SIZE_MAX, &text, &len, err);
    if (rc < 0)
        return rc;
    json_t *root = json_loads(text, 0, &json_error);
    for (size_t i = 0; i < json_array_size(root) && i < FAKE_MACHINES_MAX; i++) {
        struct fake_machine *machine = &store->machines[store->count];
        if (!read_machine(json_array_get(root, i), machine))
            continue;
        store->count++;
        if (machine->pid && !fake_machine_alive(machine)) {
            machine->pid = 0;
            machine->info.state = VM_OFF;
            machine->info.reason = VM_REASON_CRASH;
        }
    }
    json_decref(root);
    return 0;
}
