#include "base/landlock.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Rights that newer kernels have and older headers have not. */
#define ACCESS_REFER     (1ULL << 13) /* ABI 2 */
#define ACCESS_TRUNCATE  (1ULL << 14) /* ABI 3 */
#define ACCESS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define ACCESS_NET       (3ULL)       /* ABI 4: bind and connect of TCP */
#define SCOPE_ALL        (3ULL)       /* ABI 6: abstract UNIX sockets, signals */
#define ACCESS_FILES_V1  ((1ULL << 13) - 1)

#define RIGHTS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_FILE                                                                                          \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE |             \
     ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)

/* The kernel's struct with all members up to ABI 6; the size that is passed says how many are meant. */
struct ruleset_attr {
    uint64_t files, net, scoped;
};

int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? 0 : (int)version;
}

/* All file rights of this kernel. */
static uint64_t handled_files(int version)
{
    uint64_t rights = ACCESS_FILES_V1;
    if (version >= 2)
        rights |= ACCESS_REFER;
    if (version >= 3)
        rights |= ACCESS_TRUNCATE;
    if (version >= 5)
        rights |= ACCESS_IOCTL_DEV;
    return rights;
}

/* Adds one path; what is not there needs no rule. */
static int add_rule(int ruleset, const struct landlock_rule *rule, uint64_t handled, struct error **err)
{
    struct stat st;
    autoclose int fd = open(rule->path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR
                   ? 0
                   : error_set_errno(err, errno, "cannot open '%s' to allow it", rule->path);
    if (fstat(fd, &st) < 0)
        return error_set_errno(err, errno, "cannot read '%s'", rule->path);
    uint64_t rights = 0;
    if (rule->access & LANDLOCK_READ)
        rights |= RIGHTS_READ;
    if (rule->access & LANDLOCK_EXECUTE)
        rights |= RIGHTS_READ | LANDLOCK_ACCESS_FS_EXECUTE;
    if (rule->access & LANDLOCK_WRITE)
        rights |= handled & ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                        LANDLOCK_ACCESS_FS_MAKE_BLOCK);
    if (rule->access & LANDLOCK_CHANGE)
        rights |= LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV;
    if (!S_ISDIR(st.st_mode))
        rights &= RIGHTS_FILE;
    struct landlock_path_beneath_attr attr = {.allowed_access = rights & handled, .parent_fd = fd};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
        return error_set_errno(err, errno, "cannot allow '%s'", rule->path);
    return 0;
}

int landlock_confine(const struct landlock_rule *rules, size_t count, struct error **err)
{
    int version = landlock_version();
    struct ruleset_attr attr = {.files = handled_files(version)};
    size_t size = sizeof(attr.files);

    if (version == 0) {
        int rc = error_set(err, ERROR_MISSING, "this kernel has no Landlock");
        error_hint(err, "boot with landlock in the kernel's lsm= list (Linux 5.13 or later)");
        return rc;
    }
    if (version >= 4) {
        attr.net = ACCESS_NET;
        size += sizeof(attr.net);
    }
    if (version >= 6) {
        attr.scoped = SCOPE_ALL;
        size += sizeof(attr.scoped);
    }
    autoclose int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return error_set_errno(err, errno, "cannot make a Landlock ruleset");
    for (size_t i = 0; i < count; i++) {
        int rc = add_rule(ruleset, &rules[i], attr.files, err);
        if (rc < 0)
            return rc;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        return error_set_errno(err, errno, "cannot enforce the Landlock ruleset");
    return 0;
}
