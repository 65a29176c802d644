#include "vm/block_chain.h"

#include "base/alloc.h"
#include "vm/layer.h"
#include "vm/vm.h"

#include <jansson.h>
#include <string.h>

/* QEMU writes a file's name plain, or as json:{…} when options were given that a name cannot carry. The file
 * then is the "filename" of the innermost "file". Caller frees. */
static char *plain_name(const char *name)
{
    json_error_t json_error;
    if (name[0] == '/')
        return xstrdup(name);
    if (strncmp(name, "json:", 5) != 0)
        return NULL;
    json_t *root = json_loads(name + 5, 0, &json_error);
    json_t *node = root;
    char *path = NULL;
    for (int depth = 0; node && depth < 8 && json_object_get(node, "file"); depth++)
        node = json_object_get(node, "file");
    const char *found = json_string_value(json_object_get(node, "filename"));
    if (found && found[0] == '/')
        path = xstrdup(found);
    json_decref(root);
    return path;
}

/* Follows backing-image from the top. */
static int read_images(json_t *image, char **chain, struct error **err)
{
    for (size_t count = 0; image; count++, image = json_object_get(image, "backing-image")) {
        const char *name = json_string_value(json_object_get(image, "filename"));
        const char *format = json_string_value(json_object_get(image, "format"));
        if (count == LAYER_DEPTH_MAX)
            return error_set(err, ERROR_CORRUPT, "QEMU has more than %d layers open", LAYER_DEPTH_MAX);
        if (!name || !format || strcmp(format, "qcow2") != 0)
            return error_set(err, ERROR_CORRUPT, "QEMU has \"%.200s\" open as %s", name ? name : "?",
                             format ? format : "nothing");
        chain[count] = plain_name(name);
        if (!chain[count])
            return error_set(err, ERROR_CORRUPT, "QEMU has \"%.200s\" open, which is no plain file", name);
    }
    return 0;
}

int block_chain_read(const char *answer, char ***ret_chain, struct error **err)
{
    json_error_t json_error;
    json_t *root = json_loads(answer, 0, &json_error);
    json_t *disks = json_object_get(root, "return");
    json_t *image = NULL;
    size_t index, found = 0;
    json_t *disk;
    int rc = 0;

    json_array_foreach(disks, index, disk)
    {
        json_t *inserted = json_object_get(disk, "inserted");
        if (inserted) {
            image = json_object_get(inserted, "image");
            found++;
        }
    }
    char **chain = xnewn(char *, LAYER_DEPTH_MAX + 1);
    if (!json_is_array(disks))
        rc = error_set(err, ERROR_HYPERVISOR, "QEMU did not say which files it has open");
    else if (found != 1 || !image)
        rc = error_set(err, ERROR_CORRUPT, "QEMU has %zu disks, not one", found);
    else
        rc = read_images(image, chain, err);
    json_decref(root);
    if (rc < 0) {
        vm_free_chain(chain);
        return rc;
    }
    *ret_chain = chain;
    return 0;
}
