#include "base/log.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longest line in bytes: stays below PIPE_BUF, so that lines of several processes never mix in a pipe. */
#define LINE_MAX_BYTES 3500

static char program_name[32] = "hutch";
static atomic_int lowest_level = LOG_LEVEL_INFO;

static const char *const level_words[] = {
    [LOG_LEVEL_DEBUG] = "debug: ",
    [LOG_LEVEL_INFO] = "",
    [LOG_LEVEL_WARNING] = "warning: ",
    [LOG_LEVEL_ERROR] = "error: ",
};

void log_init(const char *program)
{
    snprintf(program_name, sizeof(program_name), "%s", program);
    const char *debug = getenv("HUTCH_DEBUG");
    if (debug && !strcmp(debug, "1"))
        log_set_level(LOG_LEVEL_DEBUG);
}

void log_set_level(enum log_level level)
{
    atomic_store(&lowest_level, level);
}

void log_write(enum log_level level, const char *format, ...)
{
    if ((int)level < atomic_load(&lowest_level))
        return;
    int saved = errno;
    va_list args;
    va_start(args, format);
    autofree char *message = xvasprintf(format, args);
    va_end(args);

    struct text text;
    text_init(&text, message, strlen(message), LINE_MAX_BYTES, TEXT_DEFAULT);
    char now[UNITS_TIME_MAX];
    /* One write a line: threads and processes that share stderr do not mix theirs. */
    autofree char *line = xasprintf("%s %s: %s%s\n", units_format_time(units_now_ns(), now), program_name,
                                    level_words[level], text.bytes);
    text_finish(&text);
    size_t len = strlen(line);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(STDERR_FILENO, line + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += n;
    }
    errno = saved;
}
