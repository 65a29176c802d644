#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/stub_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>

#define LABEL_MAX 63
#define FILE_MAX  (NAMES_MAX * (NAMES_NAME_MAX + 1ull))

bool stub_canonical(const char *name, size_t len, char *out)
{
    size_t label = 0; /* bytes of the current one */
    bool digits = true;

    if (len > 0 && name[len - 1] == '.')
        len--;
    if (len == 0 || len > NAMES_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c == '.') {
            if (label == 0 || name[i - 1] == '-')
                return false;
            label = 0;
            digits = true;
        } else if (c < 0x80 && (isalnum(c) || c == '_' || (c == '-' && label > 0))) {
            digits = digits && isdigit(c);
            if (++label > LABEL_MAX)
                return false;
        } else {
            return false;
        }
        out[i] = (char)tolower(c);
    }
    out[len] = '\0';
    return label > 0 && !digits && name[len - 1] != '-';
}

/* The order of the lines is the order of the addresses. Returns how many bytes are good. */
static size_t take_old(struct stub_names *names, const char *data)
{
    char name[NAMES_NAME_MAX + 1];
    const char *line = data, *end;
    uint32_t address;

    while ((end = strchr(line, '\n'))) {
        size_t len = (size_t)(end - line), count = names->names.count;
        if (!stub_canonical(line, len, name) || strncmp(name, line, len) != 0 ||
            names_address(&names->names, name, len, &address, NULL) || names->names.count != count + 1)
            break;
        line = end + 1;
    }
    return (size_t)(line - data);
}

void stub_names_init(struct stub_names *names, const char *run)
{
    autofree char *data = NULL;
    size_t len = 0, good = 0;
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        log_warning("no random numbers: %s", strerror(errno));
    names_init(&names->names, seed);
    names->path = file_join(run, "names");
    if (file_read(names->path, FILE_MAX, &data, &len, NULL) == 0)
        good = take_old(names, data);
    if (good < len)
        log_warning("'%s' is broken after %zu names; those behind are forgotten", names->path,
                    names->names.count);
    names->fd = open(names->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (names->fd < 0 || ftruncate(names->fd, (off_t)good))
        log_warning("names cannot be kept in '%s': %s", names->path, strerror(errno));
}

void stub_names_finish(struct stub_names *names)
{
    names_finish(&names->names);
    cleanup_close(&names->fd);
    free(names->path);
}

int stub_names_address(struct stub_names *names, const char *name, uint32_t *ret_address, struct error **err)
{
    size_t count = names->names.count, len = strlen(name);
    int rc = names_address(&names->names, name, len, ret_address, err);

    if (rc || names->names.count == count || names->fd < 0)
        return rc;
    autofree char *line = xasprintf("%s\n", name);
    auto(error) struct error *failed = NULL;
    if (fd_write_all(names->fd, line, len + 1, &failed)) {
        log_warning("names cannot be kept: %s", failed->message);
        cleanup_close(&names->fd);
        names->fd = -1;
    }
    return 0;
}
