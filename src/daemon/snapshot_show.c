/* Snapshots as the API reads and shows them. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "daemon/layers.h"
#include "daemon/snapshot.h"
#include "wire/json.h"

#include <string.h>

static void set(json_t *json, const char *key, json_t *value)
{
    require(json_object_set_new(json, key, value) == 0);
}

json_t *snapshot_address(int64_t number)
{
    return number ? json_sprintf("@%lld", (long long)number) : json_null();
}

int snapshot_chain(const struct daemon *daemon, const struct record *record, const struct snapshot_row *row,
                   char ***ret_chain, struct error **err)
{
    return layers_chain_of(daemon, record, row->layer_project, row->layer_number, ret_chain, err);
}

json_t *snapshot_json(const struct daemon *daemon, const struct record *record,
                      const struct snapshot_row *row)
{
    autofree char *file = layers_file(daemon, row->layer_project, row->layer_number);
    autofree char *image = row->memory ? daemon_project_path(daemon, record->id, row->memory) : NULL;
    uint64_t disk = file_disk_usage(file), memory = image ? file_disk_usage(image) : 0;
    json_t *json = json_object();

    set(json, "snap", snapshot_address(row->number));
    set(json, "parent", snapshot_address(row->parent));
    set(json, "when", json_integer(row->created_ns));
    set(json, "cause", json_string(row->cause));
    set(json, "about", json_bytes(row->about, strlen(row->about)));
    set(json, "note", json_bytes(row->note, strlen(row->note)));
    set(json, "kind", json_string(row->memory ? "memory" : "disk"));
    set(json, "consistent", json_string(row->consistent));
    set(json, "kept", json_boolean(row->kept));
    set(json, "pause_ms", json_integer(row->pause_ms));
    set(json, "holds", json_integer((json_int_t)(disk + memory)));
    /* What later layers stand on stays for them. */
    set(json, "frees", json_integer((json_int_t)(row->children ? memory : disk + memory)));
    set(json, "here", json_boolean(record->here == row->number));
    set(json, "boot", json_string(row->boot));
    set(json, "layer", json_string(file));
    return json;
}

int snapshot_number(const char *text, int64_t *ret_number, struct error **err)
{
    uint64_t number;

    if (units_parse_number(text + (*text == '@'), 1, INT64_MAX, &number, NULL) < 0) {
        autofree char *safe = text_safe(text);

        return error_set(err, ERROR_INVALID, "\"%s\" is no snapshot: they are called @1, @2, …", safe);
    }
    *ret_number = (int64_t)number;
    return 0;
}

static bool is_cause(const char *cause)
{
    static const char *const causes[] = {SNAPSHOT_CAUSES};

    for (size_t i = 0; i < countof(causes); i++)
        if (!strcmp(causes[i], cause))
            return true;
    return false;
}

struct snapshot_params *snapshot_params_parse(const json_t *body, struct error **err)
{
    const char *note = NULL, *cause = "person", *about = NULL;
    int rc = json_opt_string(body, "note", SNAPSHOT_NOTE_MAX, &note, err);

    if (rc == 0)
        rc = json_opt_string(body, "cause", sizeof(((struct snapshot_params *)0)->cause), &cause, err);
    if (rc == 0)
        rc = json_opt_string(body, "about", SNAPSHOT_NOTE_MAX, &about, err);
    if (rc == 0 && !is_cause(cause))
        rc =
            error_set(err, ERROR_INVALID, "\"cause\" is person, turn, gate, restore, schedule, fork or call");
    if (rc < 0)
        return NULL;
    struct snapshot_params *params = xnew(struct snapshot_params);
    snprintf(params->cause, sizeof(params->cause), "%s", cause);
    params->note = note ? text_safe(note) : NULL;
    params->about = about ? text_safe(about) : NULL;
    return params;
}
