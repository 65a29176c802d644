#include "guest/run.h"

#include "base/alloc.h"
#include "base/spawn.h"
#include "wire/json.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define ARGV_MAX   48
#define OUTPUT_MAX (256 * 1024)

/* What a command wrote into a memory file, cut at the limit, without trailing newlines. */
static char *read_back(int fd)
{
    char *text = xcalloc(OUTPUT_MAX + 1, 1);
    size_t len = 0;
    ssize_t n;

    while (len < OUTPUT_MAX && (n = pread(fd, text + len, OUTPUT_MAX - len, (off_t)len)) > 0)
        len += (size_t)n;
    while (len && text[len - 1] == '\n')
        len--;
    text[len] = '\0';
    return xrealloc(text, len + 1, 1);
}

/* The helper's own report, or the last line of stderr. */
static int failure(const char *name, int status, const char *said, struct error **err)
{
    auto(json) json_t *report = *said == '{' ? json_parse(said, strlen(said), NULL) : NULL;
    const char *line = strrchr(said, '\n');

    if (report && json_to_error(report, err))
        return -ERROR_FAILED;
    if (*said)
        return error_set(err, ERROR_FAILED, "%s: %s", name, line ? line + 1 : said);
    return error_set(err, ERROR_FAILED, "%s ended with status %d", name, status);
}

int run_command(const struct place *place, const char *user, bool own, const char *const *argv,
                char **ret_out, int *ret_status, struct error **err)
{
    const char *full[ARGV_MAX];
    size_t n = 0;
    pid_t pid;
    int status;

    if (user) {
        full[n++] = place->program;
        full[n++] = "as";
        full[n++] = user;
        full[n++] = own ? "file" : "exec";
    }
    for (size_t i = 0; argv[i]; i++) {
        require(n + 1 < ARGV_MAX);
        full[n++] = argv[i];
    }
    full[n] = NULL;
    autoclose int out = memfd_create("out", MFD_CLOEXEC), errors = memfd_create("err", MFD_CLOEXEC);
    if (out < 0 || errors < 0)
        return error_set_errno(err, errno, "cannot keep the output of '%s'", argv[0]);
    const struct spawn spawn = {.argv = full, .in = -1, .out = out, .err = errors, .new_session = true};
    int rc = spawn_start(&spawn, &pid, err);
    if (!rc)
        rc = spawn_wait(pid, &status, err);
    if (rc)
        return rc;
    if (ret_out)
        *ret_out = read_back(out);
    if (ret_status) {
        *ret_status = status;
        return 0;
    }
    if (status == 0)
        return 0;
    autofree char *said = read_back(errors);
    return failure(argv[0], status, said, err);
}
