#include "guest/serve.h"

#include "base/alloc.h"
#include "base/log.h"
#include "guest/agent.h"
#include "guest/cgroup.h"
#include "guest/health.h"
#include "guest/net.h"
#include "guest/port.h"
#include "guest/session_spare.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    enum port_role role;
} port_list[] = {{"control", PORT_SERVES}, {"egress", PORT_CALLS}, {"bulk", PORT_SERVES}};

struct server {
    struct agent agent;
    struct port ports[countof(port_list)];
    size_t port_count;
    uv_signal_t terminate;
};

/* Lets go of everything, so that the loop ends; sessions go on. */
static void stop(struct server *server)
{
    for (size_t i = 0; i < server->port_count; i++)
        port_finish(&server->ports[i]);
    server->port_count = 0;
    net_destroy(server->agent.net);
    server->agent.net = NULL;
    health_destroy(server->agent.health);
    server->agent.health = NULL;
    session_spare_destroy(server->agent.spare);
    server->agent.spare = NULL;
    children_finish(&server->agent.children);
    if (!uv_is_closing((uv_handle_t *)&server->terminate))
        uv_close((uv_handle_t *)&server->terminate, NULL);
}

static void on_terminate(uv_signal_t *handle, int number)
{
    stop(handle->data);
}

static int start(struct server *server, enum net_mode net, struct error **err)
{
    struct agent *agent = &server->agent;
    int rc = place_create(&agent->place, err);

    if (rc)
        return rc;
    if (agent->place.machine) {
        /* helpers of the agent before us: nobody waits for them, and their work is begun anew */
        cgroup_signal(CGROUP_TASKS, SIGKILL);
    } else {
        uv_signal_start(&server->terminate, on_terminate, SIGTERM);
        setenv("HUTCH_GUEST_STATE", agent->place.state, 1);
    }
    if (net != NET_NONE)
        agent->net = net_create(agent, net);
    for (size_t i = 0; !rc && i < countof(port_list); i++) {
        rc = port_init(&server->ports[i], agent, port_list[i].name, port_list[i].role, err);
        server->port_count += rc == 0;
    }
    return rc;
}

static bool parse(int argc, char **argv, const char **ret_ports, const char **ret_root,
                  enum net_mode *ret_net)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--ports") && argv[i + 1][0] == '/')
            *ret_ports = argv[i + 1];
        else if (!strcmp(argv[i], "--root") && argv[i + 1][0] == '/')
            *ret_root = argv[i + 1];
        else if (!strcmp(argv[i], "--net") && !strcmp(argv[i + 1], "listen"))
            *ret_net = NET_LISTEN;
        else if (!strcmp(argv[i], "--net") && !strcmp(argv[i + 1], "capture"))
            *ret_net = NET_CAPTURE;
        else
            return false;
    }
    return argc % 2 == 1;
}

int serve_main(int argc, char **argv)
{
    struct server *server = xnew(struct server);
    const char *ports = NULL, *root = NULL;
    enum net_mode net = NET_NONE;
    auto(error) struct error *err = NULL;

    if (!parse(argc, argv, &ports, &root, &net)) {
        fprintf(stderr, "usage: hutch-guest serve [--ports FOLDER [--root FOLDER] [--net listen|capture]]\n");
        free(server);
        return 2;
    }
    umask(022);
    signal(SIGPIPE, SIG_IGN);
    setenv("UV_THREADPOOL_SIZE", "8", 1);
    struct agent *agent = &server->agent;
    place_init(&agent->place, ports, root);
    require(uv_loop_init(&agent->loop) == 0);
    children_init(&agent->children, &agent->loop);
    uv_signal_init(&agent->loop, &server->terminate);
    server->terminate.data = server;
    agent->health = health_create(agent);
    agent->spare = session_spare_create(agent);
    if (start(server, ports ? net : NET_CAPTURE, &err)) {
        log_error("%s", err->message);
        stop(server);
    } else {
        log_info("hutch-guest serves %s", ports ? ports : "the machine's ports");
    }
    uv_run(&agent->loop, UV_RUN_DEFAULT);
    uv_loop_close(&agent->loop);
    place_finish(&agent->place);
    free(server);
    return err ? 1 : 0;
}
