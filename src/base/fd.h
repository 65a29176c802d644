/* fd.h: descriptors: always O_CLOEXEC, errors as objects, EINTR handled. */
#ifndef HUTCH_BASE_FD_H
#define HUTCH_BASE_FD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int fd_set_nonblocking(int fd, bool on, struct error **err);
int fd_set_cloexec(int fd, bool on, struct error **err);
/* Writes all (blocking descriptor). */
int fd_write_all(int fd, const void *data, size_t len, struct error **err);
/* Reads exactly len bytes; an early end is ERROR_IO. */
int fd_read_all(int fd, void *data, size_t len, struct error **err);
/* A connected AF_UNIX pair of the given type (SOCK_STREAM, SOCK_SEQPACKET), close-on-exec, both non-blocking
 * if asked. */
int fd_socketpair(int type, bool nonblocking, int ret_fds[2], struct error **err);
/* Longest path of a UNIX socket in bytes (sun_path less its end). */
#define FD_UNIX_PATH_MAX 107
/* Connects to / listens on a UNIX socket. A path over 107 bytes is ERROR_INVALID that names it.
 * fd_unix_listen replaces a stale socket file; mode is the file's mode. Non-blocking and close-on-exec.
 * ERROR_BUSY: connect: the listener's queue is full; listen: another process listens there. */
int fd_unix_connect(const char *path, int type, int *ret_fd, struct error **err);
int fd_unix_listen(const char *path, int type, mode_t mode, int *ret_fd, struct error **err);
/* One SEQPACKET or datagram message with up to 4 descriptors. fd_send returns 1 sent, 0 would block.
 * fd_receive returns 1 received, 0 would block; ERROR_IO with sys == 0 at end of file; a cut message or more
 * descriptors than ret_fds has room for is ERROR_PROTOCOL (all received descriptors are closed). */
#define FD_PASS_MAX 4
int fd_send(int socket, const void *data, size_t len, const int *fds, size_t fd_count, struct error **err);
int fd_receive(int socket, void *data, size_t size, size_t *ret_len, int *ret_fds, size_t fd_room,
               size_t *ret_fd_count, struct error **err);
/* uid and pid of the peer of a UNIX socket. */
int fd_peer(int socket, uid_t *ret_uid, pid_t *ret_pid, struct error **err);
/* Closes every descriptor >= first except the listed ones (for children). */
void fd_close_from(int first, const int *keep, size_t keep_count);
/* Takes an exclusive (or shared) lock on a lock file that is created mode 0600; the lock lives as long as
 * *ret_fd. wait false: ERROR_BUSY when another holds it. */
int fd_lock_file(const char *path, bool exclusive, bool wait, int *ret_fd, struct error **err);

#endif
