#include "vm/qcow2.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC            0x514649fbU /* "QFI\xfb" */
#define HEAD_MIN         72          /* version 2 */
#define EXTENSION_END    0U
#define EXTENSION_FORMAT 0xe2792acaU
#define EXTENSION_DATA   0x44415441U
#define EXTENSIONS_MAX   64

/* Incompatible features */
#define FEATURE_DIRTY       (1ULL << 0)
#define FEATURE_CORRUPT     (1ULL << 1)
#define FEATURE_DATA_FILE   (1ULL << 2)
#define FEATURE_COMPRESSION (1ULL << 3)
#define FEATURE_EXTENDED_L2 (1ULL << 4)
#define FEATURES_KNOWN                                                                                       \
    (FEATURE_DIRTY | FEATURE_CORRUPT | FEATURE_DATA_FILE | FEATURE_COMPRESSION | FEATURE_EXTENDED_L2)

/* The first cluster's part that can matter: head, extensions, backing name. */
struct head_bytes {
    uint8_t data[65536];
    size_t len;
    const char *path;
};

static uint32_t get32(const struct head_bytes *bytes, size_t at)
{
    const uint8_t *p = bytes->data + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t get64(const struct head_bytes *bytes, size_t at)
{
    return (uint64_t)get32(bytes, at) << 32 | get32(bytes, at + 4);
}

static int corrupt(const struct head_bytes *bytes, const char *what, struct error **err)
{
    return error_set(err, ERROR_CORRUPT, "\"%s\" %s", bytes->path, what);
}

/* Opens and reads the beginning. */
static int read_bytes(struct head_bytes *bytes, uint64_t *ret_disk_size, struct error **err)
{
    struct stat st;
    autoclose int fd = open(bytes->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 && errno == ELOOP)
        return corrupt(bytes, "is a link, not a layer", err);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot open the layer \"%s\"", bytes->path);
    if (!S_ISREG(st.st_mode))
        return corrupt(bytes, "is no regular file", err);
    while (bytes->len < sizeof(bytes->data)) {
        ssize_t n = pread(fd, bytes->data + bytes->len, sizeof(bytes->data) - bytes->len, (off_t)bytes->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read the layer \"%s\"", bytes->path);
        if (n == 0)
            break;
        bytes->len += (size_t)n;
    }
    *ret_disk_size = (uint64_t)st.st_blocks * 512;
    return 0;
}

/* Looks through the extensions for the format of the backing file and for a data file. */
static int read_extensions(const struct head_bytes *bytes, size_t at, size_t end, bool *ret_qcow2,
                           struct error **err)
{
    *ret_qcow2 = false;
    for (int i = 0; at + 8 <= end; i++) {
        uint32_t type = get32(bytes, at), len = get32(bytes, at + 4);
        if (type == EXTENSION_END)
            return 0;
        at += 8;
        if (len > end - at || i == EXTENSIONS_MAX)
            return corrupt(bytes, "has a damaged head", err);
        if (type == EXTENSION_FORMAT)
            *ret_qcow2 = len == 5 && memcmp(bytes->data + at, "qcow2", 5) == 0;
        if (type == EXTENSION_DATA)
            return corrupt(bytes, "keeps its data in another file", err);
        at += ((size_t)len + 7) / 8 * 8;
    }
    return 0;
}

static int check_features(const struct head_bytes *bytes, uint64_t features, struct error **err)
{
    if (features & FEATURE_DATA_FILE)
        return corrupt(bytes, "keeps its data in another file", err);
    if (features & FEATURE_CORRUPT)
        return corrupt(bytes, "is marked as damaged", err);
    if (features & ~(uint64_t)FEATURES_KNOWN)
        return corrupt(bytes, "has features that are not known", err);
    return 0;
}

/* Name and format of the backing file. */
static int read_backing(const struct head_bytes *bytes, size_t head_len, struct qcow2_head *head,
                        struct error **err)
{
    uint64_t at = get64(bytes, 8);
    uint32_t len = get32(bytes, 16);
    bool is_qcow2;

    if (at == 0)
        return read_extensions(bytes, head_len, bytes->len, &is_qcow2, err);
    if (len == 0 || len > QCOW2_BACKING_MAX || at < head_len || at > bytes->len || len > bytes->len - at ||
        memchr(bytes->data + at, '\0', len))
        return corrupt(bytes, "has a damaged name of the layer below it", err);
    memcpy(head->backing, bytes->data + at, len);
    head->backing[len] = '\0';
    int rc = read_extensions(bytes, head_len, at, &is_qcow2, err);
    if (rc < 0)
        return rc;
    if (!is_qcow2)
        return error_set(err, ERROR_CORRUPT, "\"%s\" does not say that \"%s\" below it is qcow2", bytes->path,
                         head->backing);
    /* QEMU takes PROTOCOL:… in a name that has a colon before its first slash for something else than a file
     */
    if (strcspn(head->backing, ":") < strcspn(head->backing, "/"))
        return error_set(err, ERROR_CORRUPT, "\"%s\" stands on \"%s\", which is no plain file", bytes->path,
                         head->backing);
    return 0;
}

int qcow2_read(const char *path, struct qcow2_head *ret_head, struct error **err)
{
    autofree struct head_bytes *bytes = xnew(struct head_bytes);
    struct qcow2_head head = {0};
    size_t head_len = HEAD_MIN;

    bytes->path = path;
    int rc = read_bytes(bytes, &head.disk_size, err);
    if (rc < 0)
        return rc;
    if (bytes->len < HEAD_MIN || get32(bytes, 0) != MAGIC)
        return corrupt(bytes, "is no qcow2 image", err);
    uint32_t version = get32(bytes, 4);
    if (version != 2 && version != 3)
        return corrupt(bytes, "is of an unknown version of qcow2", err);
    if (get32(bytes, 32) != 0)
        return corrupt(bytes, "is encrypted", err);
    if (version == 3) {
        if (bytes->len < 104)
            return corrupt(bytes, "is cut", err);
        head_len = get32(bytes, 100);
        if (head_len < 104 || head_len > bytes->len)
            return corrupt(bytes, "has a damaged head", err);
        rc = check_features(bytes, get64(bytes, 72), err);
        if (rc < 0)
            return rc;
        head.dirty = get64(bytes, 72) & FEATURE_DIRTY;
    }
    head.virtual_size = get64(bytes, 24);
    rc = read_backing(bytes, head_len, &head, err);
    if (rc == 0)
        *ret_head = head;
    return rc;
}
