#include "cli/tree.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/units.h"
#include "base/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct tree {
    int folder;
    mode_t mask;
    char *temporary; /* name of unfinished things, random */
    char *parent;    /* path of the folder that is open in parent_fd, or NULL */
    int parent_fd;
    int file;        /* the unfinished file, or -1 */
    int file_parent; /* its folder */
    char *file_name; /* its name to be */
};

struct tree *tree_create(int folder)
{
    struct tree *tree = xnew(struct tree);
    tree->folder = folder;
    tree->mask = umask(077);
    umask(tree->mask);
    autofree char *random = units_random_hex(8);
    tree->temporary = xasprintf(".hutch-%s", random);
    tree->parent_fd = -1;
    tree->file = -1;
    tree->file_parent = -1;
    return tree;
}

/* Forgets the unfinished file; its temporary is removed. */
static void drop_file(struct tree *tree)
{
    if (tree->file >= 0) {
        close(steal_fd(&tree->file));
        unlinkat(tree->file_parent, tree->temporary, 0);
    }
    if (tree->file_parent >= 0)
        close(steal_fd(&tree->file_parent));
    free(steal(&tree->file_name));
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    drop_file(tree);
    if (tree->parent_fd >= 0)
        close(tree->parent_fd);
    free(tree->parent);
    free(tree->temporary);
    free(tree);
}

/* One step down without following a link; a missing folder is made. */
static int step(const struct tree *tree, int at, const char *name, int *ret_fd, struct error **err)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags);
    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(at, name, 0777 & ~tree->mask) < 0 && errno != EEXIST)
            return error_set_errno(err, errno, _("cannot make a folder"));
        fd = openat(at, name, flags);
    }
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return error_set(err, ERROR_DENIED, _("left out, the way to it goes through a link or a file"));
    if (fd < 0)
        return error_set_errno(err, errno, _("cannot open a folder"));
    *ret_fd = fd;
    return 0;
}

/* Opens (and makes) the folder of a path. *ret_fd belongs to the tree: the last one stays open, a folder's
 * files come together. */
static int open_parent(struct tree *tree, const char *path, int *ret_fd, const char **ret_name,
                       struct error **err)
{
    const char *slash = strrchr(path, '/');
    if (!slash) {
        *ret_fd = tree->folder;
        *ret_name = path;
        return 0;
    }
    autofree char *parent = xstrndup(path, (size_t)(slash - path));
    *ret_name = slash + 1;
    if (tree->parent && strcmp(tree->parent, parent) == 0) {
        *ret_fd = tree->parent_fd;
        return 0;
    }
    autoclose int at = -1;
    for (const char *p = parent; *p; p += strcspn(p, "/"), p += *p == '/') {
        autofree char *name = xstrndup(p, strcspn(p, "/"));
        require(*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
        int fd = -1;
        int rc = step(tree, at >= 0 ? at : tree->folder, name, &fd, err);
        if (rc < 0)
            return rc;
        if (at >= 0)
            close(at);
        at = fd;
    }
    if (tree->parent_fd >= 0)
        close(tree->parent_fd);
    free(tree->parent);
    tree->parent = steal(&parent);
    tree->parent_fd = steal_fd(&at);
    *ret_fd = tree->parent_fd;
    return 0;
}

int tree_folder(struct tree *tree, const char *path, mode_t mode, struct error **err)
{
    int at;
    const char *name;
    int rc = open_parent(tree, path, &at, &name, err);
    if (rc < 0)
        return rc;
    if (mkdirat(at, name, ((mode & 0777) | 0700) & ~tree->mask) == 0)
        return 0;
    int sys = errno;
    struct stat st;
    if (sys != EEXIST)
        return error_set_errno(err, sys, _("cannot make a folder"));
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
        return error_set(err, ERROR_EXISTS, _("left out, there is something else with the folder's name"));
    return 0;
}

int tree_file_begin(struct tree *tree, const char *path, mode_t mode, struct error **err)
{
    require(tree->file < 0);
    int at;
    const char *name;
    int rc = open_parent(tree, path, &at, &name, err);
    if (rc < 0)
        return rc;
    int fd = openat(at, tree->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, _("cannot make a file"));
    tree->file = fd;
    tree->file_parent = fcntl(at, F_DUPFD_CLOEXEC, 3);
    tree->file_name = xstrdup(name);
    if (tree->file_parent < 0 || fchmod(fd, mode & 0777 & ~tree->mask) < 0) {
        rc = error_set_errno(err, errno, _("cannot make a file"));
        drop_file(tree);
    }
    return rc;
}

int tree_file_write(struct tree *tree, const void *data, size_t len, struct error **err)
{
    return fd_write_all(tree->file, data, len, err);
}

/* Gives what was made as the temporary its name. */
static int publish(const struct tree *tree, int at, const char *name, struct error **err)
{
    int sys = renameat(at, tree->temporary, at, name) < 0 ? errno : 0;
    /* Also after success: a rename between two names of one file does nothing. */
    if (sys || faccessat(at, tree->temporary, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        unlinkat(at, tree->temporary, 0);
    if (sys == EISDIR || sys == ENOTEMPTY || sys == EEXIST)
        return error_set(err, ERROR_EXISTS, _("left out, there is a folder with this name"));
    return sys ? error_set_errno(err, sys, _("cannot give it its name")) : 0;
}

int tree_file_end(struct tree *tree, struct error **err)
{
    require(tree->file >= 0);
    int rc = 0;
    if (close(steal_fd(&tree->file)) < 0) {
        rc = error_set_errno(err, errno, _("cannot finish a file"));
        unlinkat(tree->file_parent, tree->temporary, 0);
    } else {
        rc = publish(tree, tree->file_parent, tree->file_name, err);
    }
    drop_file(tree);
    return rc;
}

/* Whether a link's target stays below the top folder. ".." is allowed only in front, and no more of them than
 * there are folders between the link and the top: these are real folders, while any later part may be a link
 * whose ".." goes elsewhere than it seems. */
static bool target_stays(const char *path, const char *target)
{
    size_t depth = 0;
    for (const char *p = path; *p; p++)
        depth += *p == '/';
    if (*target == '\0' || *target == '/' || depth == 0)
        return false;
    depth--; /* the top itself */
    bool front = true;
    for (const char *p = target; *p;) {
        size_t part = strcspn(p, "/");
        bool up = part == 2 && p[0] == '.' && p[1] == '.';
        if (up && (!front || depth-- == 0))
            return false;
        if (!up && part > 0 && !(part == 1 && p[0] == '.'))
            front = false;
        p += part;
        p += strspn(p, "/");
    }
    return true;
}

int tree_symlink(struct tree *tree, const char *path, const char *target, struct error **err)
{
    if (!target_stays(path, target))
        return error_set(err, ERROR_DENIED, _("left out, a link that leads out of the folder"));
    int at;
    const char *name;
    int rc = open_parent(tree, path, &at, &name, err);
    if (rc < 0)
        return rc;
    if (symlinkat(target, at, tree->temporary) < 0)
        return error_set_errno(err, errno, _("cannot make a link"));
    return publish(tree, at, name, err);
}

int tree_hard_link(struct tree *tree, const char *path, const char *target, struct error **err)
{
    int at;
    const char *name;
    int rc = open_parent(tree, target, &at, &name, err);
    if (rc < 0)
        return rc;
    /* O_PATH pins what was looked at: the name may mean something else a moment later. */
    autoclose int file = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (file < 0 && errno == ENOENT)
        return error_set(err, ERROR_NOT_FOUND,
                         _("left out, the file that it is a second name of is not there"));
    if (file < 0 || fstat(file, &st) < 0)
        return error_set_errno(err, errno, _("cannot open a file"));
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_DENIED, _("left out, a second name of something that is no file"));
    rc = open_parent(tree, path, &at, &name, err);
    if (rc < 0)
        return rc;
    char self[32];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
    if (linkat(AT_FDCWD, self, at, tree->temporary, AT_SYMLINK_FOLLOW) < 0)
        return error_set_errno(err, errno, _("cannot make a second name"));
    return publish(tree, at, name, err);
}
