/* vm_guest: stands in for hutch-guest where only the machine is tested. It is process 1 of the machine,
 * counts on the console, and does what the kernel command line asks: vm_guest=count|spam|restart|off. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

/* 12 MB and a last line. */
static void spam(void)
{
    char line[1024];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (int i = 0; i < 12 * 1024; i++)
        if (write(1, line, sizeof(line)) < 0)
            break;
    dprintf(1, "SPAM DONE\n");
}

/* The first start leaves a mark and starts again; the second switches off. */
static void restart(void)
{
    int second = access("/var/vm_guest", F_OK) == 0;
    int fd = open("/var/vm_guest", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    dprintf(1, "START %d\n", second + 1);
    close(fd);
    sync();
    reboot(second ? RB_POWER_OFF : RB_AUTOBOOT);
}

int main(int argc, char **argv)
{
    char line[4096] = "";
    mount("proc", "/proc", "proc", 0, NULL);
    int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, line, sizeof(line) - 1) < 0)
        return 1;
    dprintf(1, "UP pid=%d %s\n", (int)getpid(), argv[0]);
    sync();
    if (strstr(line, "vm_guest=spam"))
        spam();
    if (strstr(line, "vm_guest=restart"))
        restart();
    if (strstr(line, "vm_guest=off"))
        reboot(RB_POWER_OFF);
    for (int i = 0;; i++) {
        dprintf(1, "COUNT %d\n", i);
        usleep(200000);
    }
}
