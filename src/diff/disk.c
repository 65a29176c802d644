#include "diff/disk.h"

#include "base/alloc.h"
#include "diff/image.h"

#include <string.h>

uint64_t disk_size(const struct disk *disk)
{
    return image_size(disk->layers[0]);
}

/* The first layer that says something about an offset, and for how many bytes. */
static int find(const struct disk *disk, uint64_t offset, uint64_t len, const struct image **ret_image,
                struct image_run *ret_run, struct error **err)
{
    *ret_image = NULL;
    *ret_run = (struct image_run){.kind = IMAGE_ZERO, .len = len};
    for (size_t i = 0; i < disk->count; i++) {
        struct image_run run;
        uint64_t size = image_size(disk->layers[i]);
        if (offset >= size) /* a layer below that is smaller: zeros from there on */
            return 0;
        int rc = image_find(disk->layers[i], offset, &run, err);
        if (rc < 0)
            return rc;
        if (run.len < ret_run->len)
            ret_run->len = run.len;
        if (run.kind == IMAGE_BELOW)
            continue;
        run.len = ret_run->len;
        *ret_run = run;
        *ret_image = disk->layers[i];
        return 0;
    }
    return 0;
}

int disk_read(const struct disk *disk, uint64_t offset, void *data, size_t len, struct error **err)
{
    uint8_t *out = data;

    if (offset > disk_size(disk) || len > disk_size(disk) - offset)
        return error_set(err, ERROR_INVALID, "the file system goes on behind the end of the disk");
    while (len > 0) {
        struct image_run run;
        const struct image *image;
        int rc = find(disk, offset, len, &image, &run, err);
        if (rc == 0 && run.kind == IMAGE_DATA)
            rc = image_read(image, run.at, out, run.len, err);
        else if (rc == 0)
            memset(out, 0, run.len);
        if (rc < 0)
            return rc;
        out += run.len;
        offset += run.len;
        len -= run.len;
    }
    return 0;
}

static void add(uint64_t offset, uint64_t len, void *user)
{
    difference_add(user, offset, len);
}

int difference_find(const struct disk *a, const struct disk *b, struct difference *ret, struct error **err)
{
    uint64_t size = disk_size(a) > disk_size(b) ? disk_size(a) : disk_size(b);
    struct difference difference = {.grains = (size + DISK_GRAIN - 1) / DISK_GRAIN};
    size_t shared = 0;
    int rc = 0;

    difference.bits = xnewn(uint8_t, difference.grains / 8 + 1);
    while (shared < a->count && shared < b->count &&
           a->layers[a->count - 1 - shared] == b->layers[b->count - 1 - shared])
        shared++;
    if (shared == 0)
        difference_add(&difference, 0, size);
    for (size_t i = 0; shared > 0 && rc == 0 && i < a->count - shared; i++)
        rc = image_written(a->layers[i], add, &difference, err);
    for (size_t i = 0; shared > 0 && rc == 0 && i < b->count - shared; i++)
        rc = image_written(b->layers[i], add, &difference, err);
    if (rc < 0)
        difference_finish(&difference);
    else
        *ret = difference;
    return rc;
}

void difference_finish(struct difference *difference)
{
    free(difference->bits);
    *difference = (struct difference){0};
}

void difference_add(struct difference *difference, uint64_t offset, uint64_t len)
{
    for (uint64_t i = offset / DISK_GRAIN; len > 0 && i <= (offset + len - 1) / DISK_GRAIN; i++) {
        if (i >= difference->grains || difference->bits[i / 8] & 1U << i % 8)
            continue;
        difference->bits[i / 8] |= (uint8_t)(1U << i % 8);
        difference->count++;
    }
}

bool difference_has(const struct difference *difference, uint64_t offset, uint64_t len)
{
    for (uint64_t i = offset / DISK_GRAIN; len > 0 && i <= (offset + len - 1) / DISK_GRAIN; i++)
        if (i >= difference->grains || difference->bits[i / 8] & 1U << i % 8)
            return true;
    return false;
}
