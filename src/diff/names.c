/* Names of files that changed in folders that did not. An inode does not say where its names are; but ext4
 * puts a file's inode into the group of its folder, or close to it, so the folders there are read first. */
#include "base/alloc.h"
#include "diff/changes_internal.h"

#include <string.h>
#include <sys/stat.h>

#define CHUNK 65536

struct search {
    struct finding *finding;
    uint64_t missing; /* names */
    uint8_t *chunk;
    uint8_t *done; /* groups */
};

/* The names in one folder. */
static int look_into(struct search *search, uint32_t folder, struct error **err)
{
    struct finding *finding = search->finding;
    autofree char *path = NULL;
    struct listing listing;

    int rc = volume_list(finding->b, folder, &listing, err);
    if (rc < 0)
        return rc;
    tree_learn(finding->tree_b, folder, &listing);
    for (size_t i = 0; rc == 0 && search->missing > 0 && i < listing.count; i++) {
        uint32_t inode = listing.items[i].inode;
        struct pair *pair = pair_find(finding, inode);
        if (!pair || pair->missing == 0)
            continue;
        if (!path)
            rc = tree_path(finding->tree_b, folder, &path, err);
        if (rc == 0)
            rc = finding_add(finding, CHANGE_CHANGED, tree_join(path, listing.items[i].name), inode, inode,
                             err);
        pair->missing--;
        search->missing--;
    }
    listing_finish(&listing);
    return rc;
}

/* The folders whose inodes are in one group. */
static int search_group(struct search *search, uint32_t group, struct error **err)
{
    struct volume *volume = search->finding->b;
    const struct volume_shape *shape = volume_shape(volume);
    uint64_t at;
    uint32_t used = volume_used(volume, group, &at), step = CHUNK / shape->inode_size;
    int rc = 0;

    search->done[group] = 1;
    for (uint32_t first = 0; rc == 0 && search->missing > 0 && first < used; first += step) {
        uint32_t count = used - first < step ? used - first : step;
        rc = volume_read(volume, at + (uint64_t)first * shape->inode_size, search->chunk,
                         (size_t)count * shape->inode_size, err);
        for (uint32_t i = 0; rc == 0 && search->missing > 0 && i < count; i++) {
            struct node node;
            uint32_t inode = group * shape->inodes_per_group + 1 + first + i;
            node_parse(search->chunk + (size_t)i * shape->inode_size, shape->inode_size, &node);
            if (node.links == 0 || !S_ISDIR(node.mode) || (inode < 11 && inode != VOLUME_ROOT))
                continue;
            const struct pair *pair = pair_find(search->finding, inode);
            if (!pair || !pair->new_folder) /* those were read already */
                rc = look_into(search, inode, err);
        }
    }
    return rc;
}

/* The groups that lie together with those of the files, then all. width 1: the files' own. */
static int search_near(struct search *search, uint32_t width, struct error **err)
{
    const struct volume_shape *shape = volume_shape(search->finding->b);
    int rc = 0;

    for (size_t i = 0; rc == 0 && search->missing > 0 && i < search->finding->count; i++) {
        const struct pair *pair = &search->finding->pairs[i];
        uint32_t group = (pair->inode - 1) / shape->inodes_per_group / width * width;
        for (uint32_t k = 0; rc == 0 && pair->missing > 0 && k < width; k++)
            if (group + k < shape->groups && !search->done[group + k])
                rc = search_group(search, group + k, err);
    }
    return rc;
}

int names_find(struct finding *finding, struct error **err)
{
    const struct volume_shape *shape = volume_shape(finding->b);
    struct search search = {.finding = finding};

    for (size_t i = 0; i < finding->count; i++)
        search.missing += finding->pairs[i].missing;
    if (search.missing == 0)
        return 0;
    search.chunk = xnewn(uint8_t, CHUNK);
    search.done = xnewn(uint8_t, shape->groups);
    int rc = search_near(&search, 1, err);
    if (rc == 0)
        rc = search_near(&search, shape->flex, err);
    for (uint32_t group = 0; rc == 0 && search.missing > 0 && group < shape->groups; group++)
        if (!search.done[group])
            rc = search_group(&search, group, err);
    free(search.chunk);
    free(search.done);
    return rc;
}
