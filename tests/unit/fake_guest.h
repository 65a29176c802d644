/* fake_guest.h: a machine for tests without a machine: three port sockets in a folder, behind them a model of
 * QEMU's virtio-serial (which tells neither side when the other connects) and a guest that speaks the
 * protocol or breaks it. */
#ifndef HUTCH_TESTS_FAKE_GUEST_H
#define HUTCH_TESTS_FAKE_GUEST_H

#include <sys/types.h>

enum fake_mode {
    FAKE_GOOD,
    /* before HTTP/2, on every port */
    FAKE_ZEROS,       /* 100 MB of zeros, then good */
    FAKE_WRONG_NONCE, /* a reply with another nonce and HTTP/2 after it, twice; then good */
    FAKE_OLD_NONCE,   /* a reply to the hello before the last */
    FAKE_CUT_REPLY,   /* half a reply, then silence, then good */
    FAKE_NO_HTTP,     /* a right reply, then garbage */
    FAKE_MUTE,        /* reads and says nothing */
};

/* Forks it; both processes end when the caller's process ends or fake_guest_stop kills them. Paths:
 * DIR/{control,egress,bulk}.sock */
pid_t fake_guest_start(const char *dir, enum fake_mode mode);
void fake_guest_stop(pid_t pid);
/* kill -9 of the guest's program alone. QEMU keeps the host's connections, as it does when a guest's process
 * dies, and a new program is started on the same ports. */
void fake_guest_kill_program(const char *dir);

#endif
