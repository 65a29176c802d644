/* qemu_log.h: the log that libvirt keeps of each QEMU: the lines that tell why a start failed. */
#ifndef HUTCH_VM_QEMU_LOG_H
#define HUTCH_VM_QEMU_LOG_H

#include <stddef.h>

#define QEMU_LOG_LINES 8

/* Path of the log of a machine under this URI; caller frees. */
char *qemu_log_path(const char *uri, const char *name);
/* The last QEMU_LOG_LINES lines of a log's text that QEMU itself wrote since its last start, made safe for
 * display; NULL if there are none. Caller frees. */
char *qemu_log_last_lines(const char *text, size_t len);
/* The same of the file; NULL if it cannot be read. */
char *qemu_log_tail(const char *path);

#endif
