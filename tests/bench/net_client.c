/* net_client: the guest's end of bench's network lines, linked statically so that any guest runs it.
 *
 *     net_client down ADDRESS PORT BYTES     reads so many bytes: prints seconds from the first to the last
 *     net_client up ADDRESS PORT BYTES       writes so many, waits until all has arrived: prints the seconds
 *     net_client connect ADDRESS PORT N      N connections one after another: prints microseconds of each,
 * from connect() to the answer to one byte net_client hold ADDRESS PORT N         N connections that each
 * read, slowly, until standard input ends
 *
 * The server's end is net_server of bench_net.py: the first byte of a connection says what it does. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK    65536
#define HOLD_MAX 1024

static struct sockaddr_in server;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "net_client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A connection whose server does what the letter says. */
static int dial(char letter)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof(server)) < 0)
        fail("connect");
    if (write(fd, &letter, 1) != 1)
        fail("write");
    return fd;
}

static void down(uint64_t bytes)
{
    static char block[BLOCK];
    int fd = dial('d');
    double start = 0;

    for (uint64_t got = 0; got < bytes;) {
        ssize_t n = read(fd, block, bytes - got < BLOCK ? bytes - got : BLOCK);
        if (n <= 0)
            fail("read");
        if (!got)
            start = seconds();
        got += (uint64_t)n;
    }
    printf("%.6f\n", seconds() - start);
}

static void up(uint64_t bytes)
{
    static char block[BLOCK];
    int fd = dial('u');
    double start = seconds();

    for (uint64_t sent = 0; sent < bytes;) {
        ssize_t n = write(fd, block, bytes - sent < BLOCK ? bytes - sent : BLOCK);
        if (n < 0)
            fail("write");
        sent += (uint64_t)n;
    }
    if (shutdown(fd, SHUT_WR) < 0 || read(fd, block, 1) != 1)
        fail("the server did not get it all");
    printf("%.6f\n", seconds() - start);
}

static void connections(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        double start = seconds();
        char byte;
        int fd = dial('e');
        if (read(fd, &byte, 1) != 1)
            fail("read");
        printf("%.1f\n", (seconds() - start) * 1e6);
        close(fd);
    }
}

static void hold(uint64_t count)
{
    static int fds[HOLD_MAX];
    static char block[1024];
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    for (uint64_t i = 0; i < count; i++)
        fds[i] = dial('d');
    printf("held\n");
    fflush(stdout);
    while (poll(&in, 1, 100) == 0)
        for (uint64_t i = 0; i < count; i++)
            if (read(fds[i], block, sizeof(block)) <= 0)
                fail("read");
}

int main(int argc, char **argv)
{
    uint64_t count = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;

    if (!count || inet_pton(AF_INET, argv[2], &server.sin_addr) != 1) {
        fprintf(stderr, "usage: net_client down|up|connect|hold ADDRESS PORT COUNT\n");
        return 2;
    }
    server.sin_family = AF_INET;
    server.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10));
    if (!strcmp(argv[1], "down"))
        down(count);
    else if (!strcmp(argv[1], "up"))
        up(count);
    else if (!strcmp(argv[1], "connect"))
        connections(count);
    else if (!strcmp(argv[1], "hold") && count <= HOLD_MAX)
        hold(count);
    else
        return 2;
    return 0;
}
