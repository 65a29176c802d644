#include "journal/store.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest file of anchors that is read: some hundred million rows. */
#define ANCHORS_MAX (256u << 20)
/* Longest line: two hashes, a number, blanks. */
#define LINE_MAX_BYTES 160

char *anchors_path(const char *path)
{
    return xasprintf("%s.anchors", path);
}

/* One line without its end: "ID SEQ HASH". */
static bool parse_line(const char *line, size_t len, struct anchor *ret)
{
    const size_t hex = HEX_SIZE - 1;
    if (len < 2 * hex + 3 || len > LINE_MAX_BYTES || line[hex] != ' ' || line[len - hex - 1] != ' ')
        return false;
    autofree char *number = xstrndup(line + hex + 1, len - 2 * hex - 2);
    uint64_t seq;
    if (!hash_from_hex(line, hex, ret->id) || !hash_from_hex(line + len - hex, hex, ret->hash) ||
        units_parse_number(number, 0, INT64_MAX, &seq, NULL) < 0)
        return false;
    ret->seq = (int64_t)seq;
    return true;
}

int anchors_read(const char *path, struct anchor **ret_anchors, size_t *ret_count, size_t *ret_bad,
                 struct error **err)
{
    autofree char *data = NULL;
    size_t len;
    int rc = file_read(path, ANCHORS_MAX, &data, &len, err);
    if (rc < 0)
        return rc;
    autofree struct anchor *anchors = xnewn(struct anchor, len / (2 * HEX_SIZE) + 1);
    size_t count = 0, bad = 0;
    for (char *p = data, *end; p < data + len; p = end + 1) {
        end = memchr(p, '\n', data + len - p);
        /* The last line may be under way, or be what a crash left of it. */
        if (!end)
            break;
        if (parse_line(p, end - p, &anchors[count]))
            count++;
        else
            bad++;
    }
    *ret_anchors = steal(&anchors);
    *ret_count = count;
    *ret_bad = bad;
    return 0;
}

/* Length of the file without an incomplete last line. */
static off_t whole_lines(int fd, off_t size)
{
    char tail[LINE_MAX_BYTES];
    off_t from = size > (off_t)sizeof(tail) ? size - (off_t)sizeof(tail) : 0;
    ssize_t n = pread(fd, tail, sizeof(tail), from);
    const char *end = n > 0 ? memrchr(tail, '\n', n) : NULL;
    return end ? from + (end - tail) + 1 : from ? size : 0;
}

int anchors_open(const char *path, int *ret_fd, struct error **err)
{
    autoclose int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot open \"%s\"", path);
    off_t whole = whole_lines(fd, st.st_size);
    if (whole < st.st_size && ftruncate(fd, whole) < 0)
        return error_set_errno(err, errno, "cannot repair \"%s\"", path);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int anchors_append(int fd, const struct anchor *anchor, struct error **err)
{
    char id[HEX_SIZE], hash[HEX_SIZE];
    hash_to_hex(anchor->id, id);
    hash_to_hex(anchor->hash, hash);
    autofree char *line = xasprintf("%s %lld %s\n", id, (long long)anchor->seq, hash);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot look at the anchors");
    int rc = fd_write_all(fd, line, strlen(line), err);
    if (rc == 0 && fdatasync(fd) < 0)
        rc = error_set_errno(err, errno, "cannot write");
    if (rc < 0 && ftruncate(fd, st.st_size) < 0)
        error_prefix(err, "the anchors are left with a broken line");
    return rc;
}
