/* watch.h: waits in a loop until a descriptor that others share (0, 1, 2) can be read or written, without
 * changing it: no O_NONBLOCK is set on the terminal or pipe of somebody else. */
#ifndef HUTCH_CLIENT_WATCH_H
#define HUTCH_CLIENT_WATCH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

enum watch_kind { WATCH_FILE, WATCH_PIPE, WATCH_SOCKET, WATCH_TERMINAL };

struct watch;

/* fd stays the caller's and must live as long as the watch. write: waits for room, else for input. ready is
 * called while it is on and the descriptor is ready; a regular file always is and never calls: WATCH_FILE. */
int watch_create(uv_loop_t *loop, int fd, bool write, void (*ready)(void *user), void *user,
                 struct watch **ret_watch, struct error **err);
/* Stops at once; the memory goes with the loop's next turn. */
void watch_free(struct watch *watch);
void watch_set(struct watch *watch, bool on);
enum watch_kind watch_kind(const struct watch *watch);
/* Reads or writes what goes without waiting. Returns bytes, 0: not now (read: the end), negative errno.
 * watch_read must follow ready, or be on a file. */
ssize_t watch_read(struct watch *watch, void *data, size_t size);
ssize_t watch_write(struct watch *watch, const void *data, size_t len);

#endif
