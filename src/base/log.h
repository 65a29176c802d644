/* log.h: one line a message to stderr (or a file that the program opened as stderr), with time and program
 * name. Library layers log at debug level only; the program that handles an error logs it once. */
#ifndef HUTCH_BASE_LOG_H
#define HUTCH_BASE_LOG_H

#include "base/error.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* Sets the program's name and the lowest level that is written. HUTCH_DEBUG=1 in the environment means debug.
 */
void log_init(const char *program);
void log_set_level(enum log_level level);
/* Thread-safe, one write a line. The formatted text is made safe (text.h) and cut at 3500 bytes. Keeps errno.
 */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
