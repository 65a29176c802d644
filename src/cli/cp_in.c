/* From this host into a machine. */
#include "cli/cp.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/project.h"
#include "cli/tar.h"
#include "client/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes of a file or of an archive on their way. */
struct sending {
    struct copy *copy;
    int fd;          /* the file, or -1 */
    struct tar *tar; /* or the archive */
    uint64_t sent, total;
    uint8_t data[FLOW_CHUNK];
};

static int produce(const uint8_t **ret_data, size_t *ret_len, void *user, struct error **err)
{
    struct sending *sending = user;
    if (sending->tar) {
        tar_next(sending->tar, ret_data, ret_len);
        progress_bytes(&sending->copy->progress, _("copying in"), tar_bytes(sending->tar), 0);
        return 0;
    }
    ssize_t n;
    do {
        n = read(sending->fd, sending->data, sizeof(sending->data));
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_set_errno(err, errno, _("cannot read the file"));
    sending->sent += (uint64_t)n;
    progress_bytes(&sending->copy->progress, _("copying in"), sending->sent, sending->total);
    *ret_data = sending->data;
    *ret_len = (size_t)n;
    return 0;
}

/* PUT of what is being sent. query: further arguments, "&mode=0644" or "". */
static int put(struct sending *sending, const char *what, const char *path, const char *query,
               struct error **err)
{
    struct copy *copy = sending->copy;
    autofree char *encoded = json_url_encode(path, strlen(path));
    autofree char *user = copy->user ? json_url_encode(copy->user, strlen(copy->user)) : NULL;
    autofree char *url = project_path(copy->project, "/%s?path=%s%s%s%s", what, encoded, query,
                                      user ? "&user=" : "", user ? user : "");
    const struct flow_options options = {
        .method = "PUT", .path = url, .body = true, .fd_in = -1, .produce = produce, .fd_out = -1};
    return flow_run(copy->client, &options, sending, err);
}

/* Where it goes: into an existing folder under its own name, else under the target's last part, whose folder
 * must be there. */
static int find_target(struct copy *copy, const char *source, const struct place *target, char **ret_folder,
                       char **ret_name, struct error **err)
{
    char type[16];
    autofree char *inside = xasprintf("%s/.", target->path);
    int rc = copy_stat(copy, inside, type, NULL, err);
    if (rc < 0)
        return rc;
    if (strcmp(type, "folder") == 0) {
        autofree char *real = realpath(source, NULL);
        *ret_folder = xstrdup(target->path);
        *ret_name = place_base(real ? real : source);
        return 0;
    }
    autofree char *safe = text_safe(target->path);
    if (target->slash)
        return error_set(err, ERROR_NOT_FOUND, _("there is no folder \"%s\" in \"%s\""), safe, copy->project);
    autofree char *parent = place_parent(target->path);
    autofree char *parent_inside = xasprintf("%s/.", parent);
    rc = copy_stat(copy, parent_inside, type, NULL, err);
    if (rc < 0)
        return rc;
    if (strcmp(type, "folder") != 0) {
        autofree char *safe_parent = text_safe(parent);
        error_set(err, ERROR_NOT_FOUND, _("there is no folder \"%s\" in \"%s\""), safe_parent, copy->project);
        return error_hint(err, _("hutch exec %s -- mkdir -p FOLDER makes it"), copy->project);
    }
    *ret_folder = steal(&parent);
    *ret_name = place_base(target->path);
    return 0;
}

static int send_file(struct copy *copy, int fd, const struct stat *st, const char *path, struct error **err)
{
    char type[16];
    int rc = copy_stat(copy, path, type, NULL, err);
    if (rc < 0)
        return rc;
    autofree char *safe = text_safe(path);
    if (strcmp(type, "folder") == 0)
        return error_set(err, ERROR_EXISTS, _("there is a folder \"%s\" in \"%s\""), safe, copy->project);
    struct sending *sending = xnew(struct sending);
    sending->copy = copy;
    sending->fd = fd;
    sending->total = (uint64_t)st->st_size;
    autofree char *query = xasprintf("&mode=%04o", (unsigned)st->st_mode & 0777);
    rc = put(sending, "files", path, query, err);
    free(sending);
    return rc;
}

/* A folder goes as an archive; what is in the way at its top is said before anything is sent. */
static int send_folder(struct copy *copy, const char *source, const char *folder, const char *name,
                       struct error **err)
{
    char type[16];
    autofree char *path = xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    autofree char *safe = text_safe(path);
    int rc = copy_stat(copy, path, type, NULL, err);
    if (rc < 0)
        return rc;
    if (*type && strcmp(type, "folder") != 0)
        return error_set(err, ERROR_EXISTS, _("\"%s\" in \"%s\" is there and no folder"), safe,
                         copy->project);
    auto(tar) struct tar *tar = NULL;
    rc = tar_create(source, name, copy_note, copy, &tar, err);
    if (rc < 0)
        return rc;
    struct sending *sending = xnew(struct sending);
    sending->copy = copy;
    sending->fd = -1;
    sending->tar = tar;
    rc = put(sending, "tar", folder, "", err);
    free(sending);
    return rc;
}

int copy_in(struct copy *copy, const char *source, const struct place *target, struct error **err)
{
    struct stat st;
    autofree char *safe = text_safe(source);
    if (stat(source, &st) < 0)
        return error_set_errno(err, errno, "\"%s\"", safe);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        error_set(err, ERROR_FAILED, _("\"%s\" is %s, not a regular file or folder"), safe,
                  S_ISFIFO(st.st_mode)   ? _("a FIFO")
                  : S_ISSOCK(st.st_mode) ? _("a socket")
                                         : _("a device"));
        return error_hint(err, _("its bytes go in by: hutch exec %s -- sh -c 'cat >FILE' <%s"), copy->project,
                          safe);
    }
    autofree char *folder = NULL, *name = NULL;
    int rc = find_target(copy, source, target, &folder, &name, err);
    if (rc < 0)
        return rc;
    if (strcmp(name, "/") == 0)
        return error_set(err, ERROR_USAGE, _("\"/\" as a whole cannot be copied"));
    if (S_ISDIR(st.st_mode))
        return send_folder(copy, source, folder, name, err);
    /* O_NONBLOCK: it may have become a FIFO, which must not hang us. */
    autoclose int fd = open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return error_set_errno(err, fd < 0 ? errno : EINVAL, _("cannot open \"%s\""), safe);
    autofree char *path = xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return send_file(copy, fd, &st, path, err);
}
