/* Out of a machine onto this host: nothing that it says is believed (untar.h, tree.h). */
#include "cli/cp.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/out.h"
#include "cli/project.h"
#include "cli/tree.h"
#include "cli/untar.h"
#include "client/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Where it goes: a folder that is open, and the name in it. */
struct landing {
    int folder;
    char *name;
    int device; /* or something that exists and is neither file nor folder: written to as it is; -1 */
};

/* Bytes on their way. */
struct receiving {
    struct copy *copy;
    struct tree *tree;   /* a file */
    struct untar *untar; /* or a folder */
    uint64_t received, total;
};

static int consume(const uint8_t *data, size_t len, void *user, struct error **err)
{
    struct receiving *receiving = user;
    receiving->received += len;
    int rc = receiving->untar ? untar_feed(receiving->untar, data, len, err)
                              : tree_file_write(receiving->tree, data, len, err);
    uint64_t done = receiving->untar ? untar_bytes(receiving->untar) : receiving->received;
    progress_bytes(&receiving->copy->progress, _("copying out"), done, receiving->total);
    return rc;
}

/* GET /files or /tar of the source, into consume or into fd. */
static int get(struct receiving *receiving, const char *what, const char *path, int fd, struct error **err)
{
    struct copy *copy = receiving->copy;
    autofree char *encoded = json_url_encode(path, strlen(path));
    autofree char *url = project_path(copy->project, "/%s?path=%s%s%s", what, encoded, copy->at ? "&at=" : "",
                                      copy->at ? copy->at : "");
    const struct flow_options options = {
        .method = "GET", .path = url, .fd_in = -1, .fd_out = fd, .consume = fd < 0 ? consume : NULL};
    return flow_run(copy->client, &options, receiving, err);
}

/* Opens the folder of the target. An existing folder is gone into; a link that exists is followed, as the
 * person named it. */
static int find_landing(const struct place *source, const char *target, struct landing *ret_landing,
                        struct error **err)
{
    struct stat st;
    bool there = stat(target, &st) == 0;
    autofree char *safe = text_safe(target);
    struct landing landing = {.folder = -1, .device = -1};
    size_t len = strlen(target);
    if (there && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
        landing.device = open(target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        if (landing.device < 0)
            return error_set_errno(err, errno, _("cannot write \"%s\""), safe);
    } else if (there && S_ISDIR(st.st_mode)) {
        landing.folder = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        landing.name = place_base(source->path);
    } else if (!there && len > 0 && target[len - 1] == '/') {
        return error_set(err, ERROR_NOT_FOUND, _("there is no folder \"%s\""), safe);
    } else {
        autofree char *real = there ? realpath(target, NULL) : NULL;
        autofree char *parent = place_parent(real ? real : target);
        landing.folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        landing.name = place_base(real ? real : target);
        if (landing.folder < 0 && errno == ENOENT) {
            autofree char *safe_parent = text_safe(parent);
            free(landing.name);
            return error_set(err, ERROR_NOT_FOUND, _("there is no folder \"%s\""), safe_parent);
        }
    }
    if (landing.folder < 0 && landing.device < 0) {
        int sys = errno;
        free(landing.name);
        return error_set_errno(err, sys, _("cannot open the folder of \"%s\""), safe);
    }
    *ret_landing = landing;
    return 0;
}

static int receive_file(struct copy *copy, const char *path, const json_t *stat,
                        const struct landing *landing, struct error **err)
{
    struct receiving receiving = {.copy = copy, .total = (uint64_t)out_number(stat, "size", 0)};
    if (landing->device >= 0)
        return get(&receiving, "files", path, landing->device, err);
    struct stat st;
    if (fstatat(landing->folder, landing->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
        autofree char *safe = text_safe(landing->name);
        return error_set(err, ERROR_EXISTS, _("there is a folder \"%s\" already"), safe);
    }
    auto(tree) struct tree *tree = tree_create(landing->folder);
    receiving.tree = tree;
    int rc = tree_file_begin(tree, landing->name, (mode_t)out_number(stat, "mode", 0644) & 0777, err);
    if (rc == 0)
        rc = get(&receiving, "files", path, -1, err);
    if (rc == 0)
        rc = tree_file_end(tree, err);
    return rc;
}

static int receive_folder(struct copy *copy, const char *path, const struct landing *landing,
                          struct error **err)
{
    if (landing->device >= 0)
        return error_set(err, ERROR_EXISTS, _("a folder cannot be copied onto something that is none"));
    struct statvfs fs;
    autofree char *base = place_base(path);
    struct untar_options options = {
        .folder = landing->folder,
        .expect = base,
        .as = landing->name,
        .bytes_max = fstatvfs(landing->folder, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : 0,
        .note = copy_note,
        .user = copy,
    };
    auto(untar) struct untar *untar = untar_create(&options);
    struct receiving receiving = {.copy = copy, .untar = untar};
    int rc = get(&receiving, "tar", path, -1, err);
    return rc == 0 ? untar_end(untar, err) : rc;
}

/* Refuses what is neither file nor folder, with its name. */
static int refuse(struct copy *copy, const char *path, const char *type, const json_t *stat,
                  struct error **err)
{
    autofree char *safe = text_safe(path);
    if (!*type)
        return error_set(err, ERROR_NOT_FOUND, _("there is no \"%s\" in \"%s\""), safe, copy->project);
    if (strcmp(type, "link") != 0)
        return error_set(err, ERROR_FAILED,
                         _("\"%s\" is a FIFO, socket or device, not a regular file or folder"), safe);
    autofree char *target = out_member(stat, "target");
    error_set(err, ERROR_FAILED, _("\"%s\" is a link to the folder \"%s\""), safe, target);
    return error_hint(err, _("copy the folder itself"));
}

int copy_out(struct copy *copy, const struct place *source, const char *target, struct error **err)
{
    char type[16], behind[16] = "";
    auto(json) json_t *stat = NULL;
    int rc = copy_stat(copy, source->path, type, &stat, err);
    if (rc == 0 && strcmp(type, "link") == 0) {
        autofree char *inside = xasprintf("%s/.", source->path);
        rc = copy_stat(copy, inside, behind, NULL, err);
    }
    if (rc < 0)
        return rc;
    bool folder = strcmp(type, "folder") == 0,
         file = strcmp(type, "regular") == 0 || (strcmp(type, "link") == 0 && !*behind);
    if (!folder && !file)
        return refuse(copy, source->path, type, stat, err);
    if (strcmp(source->path, "/") == 0)
        return error_set(err, ERROR_USAGE, _("\"/\" as a whole cannot be copied"));
    struct landing landing = {.folder = -1, .device = -1};
    rc = find_landing(source, target, &landing, err);
    if (rc < 0)
        return rc;
    /* A link's own size and mode say nothing about the file that it leads to. */
    auto(json) json_t *plain = json_object();
    rc = folder ? receive_folder(copy, source->path, &landing, err)
                : receive_file(copy, source->path, strcmp(type, "link") == 0 ? plain : stat, &landing, err);
    free(landing.name);
    if (landing.folder >= 0)
        close(landing.folder);
    if (landing.device >= 0)
        close(landing.device);
    return rc;
}
