/* file.h: whole files and folders: atomic replacement, limited reads, removal. */
#ifndef HUTCH_BASE_FILE_H
#define HUTCH_BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file of at most limit bytes into a terminated block that the caller frees; ERROR_LIMIT beyond. */
int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_len, struct error **err);
/* The same of a file that must be one: a pipe or a device is ERROR_INVALID, and is not waited for. For what
 * is read on a loop: settings, templates, presets. */
int file_read_regular(const char *path, size_t limit, char **ret_data, size_t *ret_len, struct error **err);
/* Replaces a file by write to a temporary (.NAME.XXXXXX) in the same folder, fsync, rename, fsync of the
 * folder. The old content or the new is there at every moment; a symbolic link is replaced itself. mode is
 * set whatever the umask. */
int file_replace(const char *path, const void *data, size_t len, mode_t mode, struct error **err);
/* fsync of a file or folder by path. */
int file_sync(const char *path, struct error **err);
/* mkdir -p; only new folders get mode (exactly, whatever the umask). An existing path that is no folder is
 * ERROR_EXISTS. */
int file_make_folder(const char *path, mode_t mode, struct error **err);
/* rm -r without following symbolic links; a missing path is no error. ERROR_BUSY names a mounted file system
 * in it, ERROR_LIMIT a tree of more than 256 levels; what was removed before stays so. */
int file_remove_tree(const char *path, struct error **err);
bool file_exists(const char *path);
/* Allocated bytes (st_blocks) of a file or of a tree. Missing: 0. */
uint64_t file_disk_usage(const char *path);
/* Free bytes for this user on the file system of path. */
int file_free_space(const char *path, uint64_t *ret_bytes, struct error **err);
/* SHA-256 of a file as 64 hex digits. Needs libcrypto at link time. */
int file_sha256(const char *path, char ret_hex[65], struct error **err);
/* dir + "/" + name; caller frees. */
char *file_join(const char *folder, const char *name);

#endif
