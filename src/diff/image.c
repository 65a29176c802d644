#include "diff/image.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC             0x514649fbU /* "QFI\xfb" */
#define HEAD_MIN          72
#define HEAD_SIZE         104
#define CLUSTER_BITS_MIN  9
#define CLUSTER_BITS_MAX  21
#define FEATURES_READ     (1ULL << 0 | 1ULL << 3) /* not closed in order; says how it compresses */
#define FEATURE_CORRUPT   (1ULL << 1)
#define FEATURE_DATA_FILE (1ULL << 2)
#define FEATURE_SUBS      (1ULL << 4)
#define ENTRY_OFFSET      0x00fffffffffffe00ULL
#define ENTRY_COMPRESSED  (1ULL << 62)
#define ENTRY_ZERO        1ULL
#define CACHED_TABLES     32 /* second tables in memory */

struct cached {
    uint64_t at; /* offset in the file; 0: empty */
    uint8_t *data;
};

struct image {
    int fd;
    unsigned cluster_bits;
    bool zeros; /* version 3: an entry may say that it is zeros */
    uint64_t size, file_size;
    uint8_t *first;
    uint64_t first_count;
    struct cached tables[CACHED_TABLES];
};

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t get64(const uint8_t *p)
{
    return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static int corrupt(struct error **err, const char *what)
{
    return error_set(err, ERROR_CORRUPT, "a layer of the disk %s", what);
}

int image_read(const struct image *image, uint64_t at, void *data, size_t len, struct error **err)
{
    uint8_t *out = data;

    while (len > 0) {
        ssize_t n = pread(image->fd, out, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "cannot read a layer of the disk");
        if (n == 0) {
            memset(out, 0, len);
            return 0;
        }
        out += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* What the head says, without the first table. */
static int read_head(struct image *image, uint64_t *ret_first_at, struct error **err)
{
    uint8_t head[HEAD_SIZE];

    if (image->file_size < HEAD_MIN)
        return corrupt(err, "is no qcow2 image");
    int rc = image_read(image, 0, head, sizeof(head), err);
    if (rc < 0)
        return rc;
    uint32_t version = get32(head + 4);
    if (get32(head) != MAGIC || (version != 2 && version != 3))
        return corrupt(err, "is no qcow2 image of a known version");
    uint64_t features = version == 3 ? get64(head + 72) : 0;
    if (get32(head + 32) != 0)
        return corrupt(err, "is encrypted");
    if (features & FEATURE_CORRUPT)
        return corrupt(err, "is marked as damaged");
    if (features & FEATURE_DATA_FILE)
        return corrupt(err, "keeps its data in another file");
    if (features & FEATURE_SUBS)
        return error_set(err, ERROR_INVALID, "a layer of the disk has subclusters, which are not read here");
    if (features & ~FEATURES_READ)
        return corrupt(err, "has features that are not known");
    image->zeros = version == 3;
    image->cluster_bits = get32(head + 20);
    image->size = get64(head + 24);
    image->first_count = get32(head + 36);
    *ret_first_at = get64(head + 40);
    if (image->cluster_bits < CLUSTER_BITS_MIN || image->cluster_bits > CLUSTER_BITS_MAX)
        return corrupt(err, "has clusters of an impossible size");
    if (image->size == 0 || image->size > IMAGE_SIZE_MAX)
        return error_set(err, ERROR_LIMIT, "the disk has %llu bytes: at most %llu are looked at",
                         (unsigned long long)image->size, IMAGE_SIZE_MAX);
    return 0;
}

/* Bytes that one entry of the first table stands for. */
static unsigned table_bits(const struct image *image)
{
    return image->cluster_bits * 2 - 3;
}

int image_open(int fd, struct image **ret_image, struct error **err)
{
    auto(image) struct image *image = xnew(struct image);
    struct stat st;
    uint64_t at = 0;

    image->fd = -1; /* the caller's until all is well */
    if (fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot look at a layer of the disk");
    if (!S_ISREG(st.st_mode))
        return corrupt(err, "is no regular file");
    image->file_size = (uint64_t)st.st_size;
    image->fd = fd;
    int rc = read_head(image, &at, err);
    if (rc == 0) {
        uint64_t needed = ((image->size - 1) >> table_bits(image)) + 1;
        if (needed > IMAGE_TABLES_MAX || image->first_count < needed || at % (1ULL << image->cluster_bits) ||
            at > image->file_size || needed * 8 > image->file_size - at)
            rc = corrupt(err, "has a damaged first table");
        else {
            image->first_count = needed;
            image->first = xnewn(uint8_t, needed * 8);
            rc = image_read(image, at, image->first, needed * 8, err);
        }
    }
    if (rc < 0) {
        image->fd = -1;
        return rc;
    }
    *ret_image = steal(&image);
    return 0;
}

void image_close(struct image *image)
{
    if (image->fd >= 0)
        close(image->fd);
    for (size_t i = 0; i < CACHED_TABLES; i++)
        free(image->tables[i].data);
    free(image->first);
    free(image);
}

uint64_t image_size(const struct image *image)
{
    return image->size;
}

/* The second table that an entry of the first leads to; NULL in *ret: nothing is allocated there. */
static int find_table(struct image *image, uint64_t index, const uint8_t **ret, struct error **err)
{
    uint64_t at = get64(image->first + index * 8) & ENTRY_OFFSET, size = 1ULL << image->cluster_bits;
    struct cached *cached = &image->tables[index % CACHED_TABLES];

    *ret = NULL;
    if (at == 0)
        return 0;
    if (at % size || at >= image->file_size)
        return corrupt(err, "has a table where none can be");
    if (cached->at != at) {
        if (!cached->data)
            cached->data = xnewn(uint8_t, size);
        cached->at = 0;
        int rc = image_read(image, at, cached->data, size, err);
        if (rc < 0)
            return rc;
        cached->at = at;
    }
    *ret = cached->data;
    return 0;
}

/* One entry of a second table, for a whole cluster. */
static int read_entry(const struct image *image, uint64_t entry, struct image_run *ret, struct error **err)
{
    uint64_t at = entry & ENTRY_OFFSET;

    if (entry & ENTRY_COMPRESSED)
        return error_set(err, ERROR_INVALID, "a layer of the disk is compressed, which is not read here");
    ret->kind = image->zeros && (entry & ENTRY_ZERO) ? IMAGE_ZERO : at ? IMAGE_DATA : IMAGE_BELOW;
    ret->at = ret->kind == IMAGE_DATA ? at : 0;
    if (at % (1ULL << image->cluster_bits) || at > image->file_size)
        return corrupt(err, "has a cluster where none can be");
    return 0;
}

int image_find(struct image *image, uint64_t offset, struct image_run *ret_run, struct error **err)
{
    uint64_t size = 1ULL << image->cluster_bits, inside = offset & (size - 1);
    uint64_t per_table = size / 8, cluster = offset >> image->cluster_bits;
    const uint8_t *table;
    struct image_run run = {.kind = IMAGE_BELOW};

    require(offset < image->size);
    int rc = find_table(image, cluster / per_table, &table, err);
    if (rc < 0)
        return rc;
    if (table) {
        rc = read_entry(image, get64(table + cluster % per_table * 8), &run, err);
        if (rc < 0)
            return rc;
        run.len = size - inside;
        if (run.kind == IMAGE_DATA)
            run.at += inside;
    } else {
        uint64_t whole = 1ULL << table_bits(image);
        run.len = whole - (offset & (whole - 1));
    }
    if (run.len > image->size - offset)
        run.len = image->size - offset;
    *ret_run = run;
    return 0;
}

int image_written(struct image *image, void (*fn)(uint64_t offset, uint64_t len, void *user), void *user,
                  struct error **err)
{
    uint64_t size = 1ULL << image->cluster_bits, per_table = size / 8;

    for (uint64_t i = 0; i < image->first_count; i++) {
        const uint8_t *table;
        int rc = find_table(image, i, &table, err);
        if (rc < 0)
            return rc;
        for (uint64_t k = 0; table && k < per_table; k++) {
            struct image_run run = {0};
            uint64_t offset = (i * per_table + k) << image->cluster_bits;
            if (offset >= image->size)
                break;
            rc = read_entry(image, get64(table + k * 8), &run, err);
            if (rc < 0)
                return rc;
            if (run.kind != IMAGE_BELOW)
                fn(offset, image->size - offset < size ? image->size - offset : size, user);
        }
    }
    return 0;
}
