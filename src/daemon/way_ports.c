/* Host ports of a project: showing and changing. */
#include "base/alloc.h"
#include "daemon/rules.h"
#include "daemon/way_internal.h"

static json_t *show(const char *name, uint16_t port, const char *to)
{
    autofree char *host = xasprintf("%s.hutch.internal", name);
    json_t *json = json_pack("{s:s, s:s, s:i, s:s}", "name", name, "host", host, "port", (int)port, "to", to);

    require(json);
    return json;
}

json_t *way_host_ports(struct way *way)
{
    json_t *list = json_array();
    struct policy_host_port port;

    for (size_t i = 0; way->policy && policy_host_port(way->policy, i, &port); i++)
        json_array_append_new(list, show(port.name, port.port, port.to));
    return list;
}

int way_host_port_add(struct way *way, const char *name, const char *to, uint16_t port, json_t **ret_json,
                      struct error **err)
{
    const struct paths *paths = way->daemon->paths;
    autofree char *project = way_project_name(way, err);

    if (!project)
        return -ERROR_NOT_FOUND;
    int rc = rules_host_port_check(paths, name, to, &port, err);
    if (rc < 0)
        return rc;
    autofree char *subject = xasprintf("host-port %s = %s", name, to);
    rc = daemon_note(way->daemon, way->id, "policy.add", subject, err);
    if (rc == 0)
        rc = rules_host_port_add(paths, project, name, to, port, err);
    if (rc < 0)
        return rc;
    ways_reload(way->daemon);
    *ret_json = show(name, port, to);
    if (way->banner)
        json_object_set_new(*ret_json, "problem", json_string(way->banner));
    return 0;
}

int way_host_port_remove(struct way *way, const char *name, struct error **err)
{
    autofree char *project = way_project_name(way, err);
    autofree char *subject = xasprintf("host-port %s", name);

    if (!project)
        return -ERROR_NOT_FOUND;
    int rc = daemon_note(way->daemon, way->id, "policy.remove", subject, err);
    if (rc == 0)
        rc = rules_host_port_remove(way->daemon->paths, project, name, err);
    ways_reload(way->daemon);
    return rc;
}
