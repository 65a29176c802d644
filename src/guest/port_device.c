#include "guest/port_device.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#define CLASS_FOLDER "/sys/class/virtio-ports"
#define NAME_MAX_LEN 256
#define LOAD_NS      1000000000ll

/* Nobody may have loaded it before the init system's own device manager runs. */
static void load_driver(void)
{
    static const char *const argv[] = {"modprobe", "-q", "virtio_console", NULL};
    static int64_t last_ns;
    const struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    int64_t now = units_monotonic_ns();
    pid_t pid;
    int status;

    if (last_ns && now - last_ns < LOAD_NS)
        return;
    last_ns = now;
    if (spawn_start(&spawn, &pid, NULL) == 0)
        spawn_wait(pid, &status, NULL);
}

static bool has_name(const char *entry, const char *name)
{
    autofree char *path = xasprintf(CLASS_FOLDER "/%s/name", entry);
    autofree char *found = NULL;

    if (file_read(path, NAME_MAX_LEN, &found, NULL, NULL))
        return false;
    found[strcspn(found, "\n")] = '\0';
    return !strcmp(found, name);
}

int port_device_open(const char *name)
{
    DIR *dir = opendir(CLASS_FOLDER);
    int fd = -1;

    if (!dir) {
        load_driver();
        dir = opendir(CLASS_FOLDER);
    }
    for (struct dirent *entry; dir && fd < 0 && (entry = readdir(dir));) {
        if (*entry->d_name == '.' || !has_name(entry->d_name, name))
            continue;
        autofree char *path = xasprintf("/dev/%s", entry->d_name);
        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    }
    if (dir)
        closedir(dir);
    return fd;
}
