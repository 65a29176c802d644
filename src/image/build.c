#include "image/image.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/units.h"
#include "image/host.h"
#include "image/mirror.h"
#include "image/progress.h"
#include "image/runner.h"
#include "image/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* A build's tree, image and result at their largest; and its packages. Measured with the templates that come
 * along: 1.9 GB and 0.25 GB. */
#define SPACE_NEEDED       (3ULL << 30)
#define SPACE_DOWNLOADS    (512ULL << 20)
#define WAIT_MS            200
#define KERNEL_VERSION_MAX 128
#define PACKAGE_TEXT_MAX   65536

extern char **environ;

/* One build. The steps run in the order of base_build. */
struct build {
    const struct paths *paths;
    const struct template *template;
    image_progress_fn progress_fn;
    void *user;
    const atomic_bool *cancel;
    char *bases;         /* data/bases */
    char *folder;        /* bases/.build-RANDOM */
    char *root;          /* the unpacked tree */
    char *image;         /* raw */
    char *out;           /* what is published */
    char *downloads;     /* of this suite */
    char *package_hosts; /* what the recipe says of where the tools fetch from */
    char *log_path;
    char **env; /* owned strings */
    FILE *log;
    int lock;
    struct host host;
    struct mirrors mirrors;
    struct progress progress;
    struct runner runner;
};

static void step(struct build *build, const char *phase, const char *text)
{
    if (build->progress_fn)
        build->progress_fn(phase, text, 0, 0, build->user);
}

static void on_line(void *user, const char *line)
{
    struct build *build = user;
    const struct progress *progress = &build->progress;
    if (progress_line(&build->progress, line) && build->progress_fn)
        build->progress_fn(progress->phase, progress->text, progress->done, progress->total, build->user);
}

static bool cancelled(const struct build *build)
{
    return build->cancel && atomic_load(build->cancel);
}

static void free_strings(char **strings)
{
    for (size_t i = 0; strings && strings[i]; i++)
        free(strings[i]);
    free(strings);
}

/* Adds an owned string to a NULL-ended array. */
static void push(char ***strings, char *string)
{
    size_t count = 0;
    while (*strings && (*strings)[count])
        count++;
    *strings = xrealloc(*strings, count + 2, sizeof(char *));
    (*strings)[count] = string;
    (*strings)[count + 1] = NULL;
}

static void build_finish(struct build *build)
{
    free(build->bases);
    free(build->folder);
    free(build->root);
    free(build->image);
    free(build->out);
    free(build->downloads);
    free(build->package_hosts);
    free(build->log_path);
    free_strings(build->env);
    if (build->log)
        fclose(build->log);
    cleanup_close(&build->lock);
    host_finish(&build->host);
    mirrors_finish(&build->mirrors);
    runner_finish(&build->runner);
}

/* The children's environment: nothing of the user's but the proxies. */
static void make_environment(struct build *build)
{
    static const char *const kept[] = {"http_proxy=", "https_proxy=", "no_proxy=", "all_proxy=",
                                       "HTTP_PROXY=", "HTTPS_PROXY=", "NO_PROXY=", "ALL_PROXY="};
    const char *path = getenv("PATH");
    push(&build->env, xasprintf("PATH=%s:/usr/local/sbin:/usr/sbin:/sbin", path ? path : "/usr/bin:/bin"));
    push(&build->env, xstrdup("LC_ALL=C"));
    push(&build->env, xstrdup("DEBIAN_FRONTEND=noninteractive"));
    push(&build->env, xstrdup("TERM=dumb"));
    push(&build->env, xstrdup("INITRD=No")); /* the recipe makes one, when all else is done */
    push(&build->env, xasprintf("HOME=%s", build->folder));
    push(&build->env, xasprintf("TMPDIR=%s", build->folder));
    push(&build->env, xasprintf("HUTCH_RECIPE=%s/recipe", build->folder));
    push(&build->env, xasprintf("HUTCH_CACHE=%s", build->downloads));
    push(&build->env, xasprintf("HUTCH_USER=%s", build->template->user));
    push(&build->env, xasprintf("HUTCH_KERNEL=%s", build->template->kernel_package));
    push(&build->env, xasprintf("HUTCH_SETUP=%s/setup", build->folder));
    push(&build->env, xasprintf("HUTCH_PACKAGE_HOSTS=%s", build->package_hosts));
    for (size_t i = 0; environ[i]; i++)
        for (size_t k = 0; k < countof(kept); k++)
            if (!strncmp(environ[i], kept[k], strlen(kept[k])))
                push(&build->env, xstrdup(environ[i]));
}

/* One build at a time: they share apt's cache, and whoever holds the lock knows that every temporary is
 * stale. The lock is inherited by the children, so it outlives a killed hutchd until they are gone too. */
static int take_lock(struct build *build, struct error **err)
{
    autofree char *path = file_join(build->bases, ".lock");
    for (bool waited = false;; waited = true) {
        auto(error) struct error *why = NULL;
        int r = fd_lock_file(path, true, false, &build->lock, &why);
        if (!r)
            return 0;
        if (r != -ERROR_BUSY)
            return error_move(err, &why);
        if (!waited)
            step(build, "wait", "another build");
        if (cancelled(build))
            return error_set(err, ERROR_CANCELLED, "the build was cancelled");
        poll(NULL, 0, WAIT_MS);
    }
}

/* Removes a tree that may hold files of mapped ids. */
static int remove_tree(struct build *build, const char *path, struct error **err)
{
    return sweep_tree(&build->host, (const char *const *)build->env, build->log, path, err);
}

static void on_left(void *user)
{
    step(user, "prepare", "removing what a stopped build left");
}

/* ERROR_NO_SPACE with both numbers if the file system of a folder has less than needed. */
static int check_space(const char *folder, uint64_t needed, const char *what, struct error **err)
{
    uint64_t space;
    int r = file_free_space(folder, &space, err);
    if (r < 0 || space >= needed)
        return r;
    char has[UNITS_SIZE_MAX], wants[UNITS_SIZE_MAX];
    error_set(err, ERROR_NO_SPACE, "\"%s\" has %s free, %s needs %s", folder, units_format_size(space, has),
              what, units_format_size(needed, wants));
    return error_hint(err, "make room there, or set HUTCH_HOME to a folder on a larger file system");
}

/* Folders, log, lock, what the host lacks: everything before the first byte is fetched. */
static int begin(struct build *build, struct error **err)
{
    const struct paths *paths = build->paths;
    const struct template *template = build->template;
    autofree char *suffix = units_random_hex(4);
    build->lock = -1;
    build->bases = base_folder(paths);
    build->folder = xasprintf("%s/%s%s", build->bases, SWEEP_PREFIX, suffix);
    build->root = file_join(build->folder, "root");
    build->image = file_join(build->folder, "disk.raw");
    build->out = file_join(build->folder, "out");
    build->downloads = xasprintf("%s/downloads/%s-%s", paths->cache, template->distribution, template->suite);
    build->package_hosts = file_join(build->folder, "package-hosts");
    build->log_path = xasprintf("%s/build-%s.log", paths->state, template->name);
    make_environment(build);
    int r = file_make_folder(build->bases, 0711, err);
    /* As root QEMU runs as another user, who must get through whatever the umask is. */
    if (!r && chmod(build->bases, 0711) < 0)
        r = error_set_errno(err, errno, "cannot change \"%s\"", build->bases);
    if (!r)
        r = file_make_folder(build->downloads, 0755, err);
    if (!r)
        r = file_make_folder(paths->state, 0700, err);
    if (!r)
        r = host_init(&build->host, err);
    if (!r)
        r = mirrors_find(paths, template, "/etc/apt", &build->mirrors, err);
    return r < 0 ? r : host_check(&build->host, err);
}

/* The temporary folder with the recipe as the digest has it and the scripts of [setup …], and the log. Needs
 * the lock. */
static int prepare(struct build *build, struct error **err)
{
    int r = sweep_folder(&build->host, (const char *const *)build->env, build->log, build->bases, on_left,
                         build, err);
    if (!r)
        r = check_space(build->bases, SPACE_NEEDED, "a build", err);
    if (!r)
        r = check_space(build->downloads, SPACE_DOWNLOADS, "a build's downloads", err);
    autofree char *setup = file_join(build->folder, "setup");
    autofree char *recipe = file_join(build->folder, "recipe");
    if (!r)
        r = file_make_folder(build->folder, 0755, err);
    if (!r)
        r = file_make_folder(setup, 0755, err);
    if (!r)
        r = file_replace(recipe, build->template->recipe, strlen(build->template->recipe), 0644, err);
    for (size_t i = 0; !r && i < build->template->setup_count; i++) {
        const struct template_setup *part = &build->template->setup[i];
        autofree char *path = xasprintf("%s/%03zu-%s", setup, i, part->name);
        r = file_replace(path, part->script, strlen(part->script), 0644, err);
    }
    if (r < 0)
        return r;
    build->log = fopen(build->log_path, "we");
    if (!build->log)
        return error_set_errno(err, errno, "cannot write \"%s\"", build->log_path);
    setvbuf(build->log, NULL, _IOLBF, 0);
    build->runner = (struct runner){
        .env = (const char *const *)build->env,
        .cwd = build->folder,
        .lock = build->lock,
        .log = build->log,
        .cancel = build->cancel,
        .line = on_line,
        .user = build,
    };
    return 0;
}

/* The host's proxies and the like, as options for apt: it reads no configuration of the host in there. */
static void add_apt_options(struct build *build, char ***argv)
{
    static const char *const roots[] = {"Acquire::http", "Acquire::https"};
    autofree char *program = host_program("apt-config");
    for (size_t i = 0; program && i < countof(roots); i++) {
        struct spawn spawn = {
            .argv = (const char *const[]){program, "dump", "--format", "%F \"%v\"%n", roots[i], NULL},
            .in = -1,
            .out = -1,
            .err = -1,
        };
        autofree char *text = NULL;
        if (spawn_run(&spawn, 10000, 65536, &text, NULL) < 0)
            continue;
        for (char *at = text, *save, *line; (line = strtok_r(at, "\n", &save)); at = NULL)
            if (!strncmp(line, roots[i], strlen(roots[i])) && !strstr(line, " \"\""))
                push(argv, xasprintf("--aptopt=%s", line));
    }
}

/* Fetches and unpacks the distribution. */
static int bootstrap(struct build *build, struct error **err)
{
    const struct template *template = build->template;
    struct buf packages;
    buf_init(&packages, 0);
    buf_printf(&packages, NULL, "--include=%s,initramfs-tools", template->kernel_package);
    for (size_t i = 0; template->packages[i]; i++)
        buf_printf(&packages, NULL, ",%s", template->packages[i]);
    static const char *const words[] = {
        "--mode=root",
        "--variant=required",
        "--format=directory",
        "--verbose",
        /* The cache is the host's own folder: what is in it stays. */
        "--skip=download/empty,essential/unlink",
        "--aptopt=APT::Sandbox::User \"root\"",
        "--aptopt=Acquire::Retries \"3\"",
        "--dpkgopt=force-unsafe-io", /* a build that a crash ends is begun anew */

        /* In this mount namespace the host's own lists and cache are not there: an apt that lost its
         * configuration cannot empty them. */
        "--setup-hook=for d in /var/lib/apt /var/cache/apt; do"
        " [ ! -d $d ] || mount -t tmpfs -o mode=755 hutch $d; done",
        "--setup-hook=sh \"$HUTCH_RECIPE\" start \"$1\"",
        "--essential-hook=sh \"$HUTCH_RECIPE\" prepare \"$1\"",
        "--customize-hook=sh \"$HUTCH_RECIPE\" finish \"$1\"",
    };
    char **argv = NULL;
    push(&argv, xstrdup(build->host.mmdebstrap));
    for (size_t i = 0; i < countof(words); i++)
        push(&argv, xstrdup(words[i]));
    push(&argv, xasprintf("--architectures=%s", template->architecture));
    push(&argv, buf_take_string(&packages));
    buf_finish(&packages);
    add_apt_options(build, &argv);
    push(&argv, xstrdup(template->suite));
    push(&argv, xstrdup(build->root));
    char **sources = mirrors_sources(&build->mirrors, template->suite);
    for (size_t i = 0; sources[i]; i++)
        push(&argv, xstrdup(sources[i]));
    free_strings(sources);
    step(build, "prepare", "package lists");
    int r = runner_run(&build->runner, build->host.confined, (const char *const *)argv, err);
    free_strings(argv);
    return r;
}

/* A UUID made of the digest: the same base has the same one wherever it is built. */
static char *base_uuid(const char *digest)
{
    return xasprintf("%.8s-%.4s-8%.3s-a%.3s-%.12s", digest, digest + 8, digest + 12, digest + 15,
                     digest + 18);
}

/* The tree as a file system in a sparse image. The features are named, so that the host's mke2fs.conf and
 * version do not decide what a guest's kernel must know. */
static int make_image(struct build *build, struct error **err)
{
    autofree char *uuid = base_uuid(build->template->digest);
    autofree char *extended =
        xasprintf("lazy_itable_init=1,lazy_journal_init=1,nodiscard,hash_seed=%s", uuid);
    autofree char *size = xasprintf("%" PRIu64 "k", build->template->disk_min / 1024);
    const char *const argv[] = {
        build->host.mke2fs,
        "-q",
        "-F",
        "-t",
        "ext4",
        "-b",
        "4096",
        "-I",
        "256",
        "-m",
        "1",
        "-L",
        "hutch",
        "-U",
        uuid,
        "-O",
        "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,"
        "large_file,huge_file,dir_nlink,extra_isize,metadata_csum",
        "-J",
        "size=64",
        "-E",
        extended,
        "-d",
        build->root,
        build->image,
        size,
        NULL};
    step(build, "image", "file system");
    int r = runner_run(&build->runner, build->host.confined, argv, err);
    if (r != -ERROR_FAILED || !err || !*err)
        return r;
    autofree char *said = xstrdup((*err)->hint);
    return error_hint(err, "a larger \"disk-min\" makes a larger image; %s", said ? said : "");
}

/* Copies a file that QEMU's user must be able to read. */
static int copy_file(const char *from, const char *to, struct error **err)
{
    autoclose int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (in < 0 || fstat(in, &st) < 0)
        return error_set_errno(err, errno, "cannot read \"%s\"", from);
    autoclose int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (out < 0)
        return error_set_errno(err, errno, "cannot write \"%s\"", to);
    for (off_t left = st.st_size; left > 0;) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(err, n ? errno : EIO, "cannot write \"%s\"", to);
        left -= n;
    }
    return fchmod(out, 0444) < 0 || fsync(out) < 0 ? error_set_errno(err, errno, "cannot write \"%s\"", to)
                                                   : 0;
}

/* The release of the tree's one kernel. */
static int kernel_version(const struct build *build, char ret[KERNEL_VERSION_MAX], struct error **err)
{
    autofree char *boot = file_join(build->root, "boot");
    DIR *dir = opendir(boot);
    if (!dir)
        return error_set_errno(err, errno, "cannot read \"%s\"", boot);
    static const char prefix[] = "vmlinuz-";
    const struct dirent *entry;
    int found = 0;
    while ((entry = readdir(dir))) {
        const char *version = entry->d_name + strlen(prefix);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || strlen(version) >= KERNEL_VERSION_MAX)
            continue;
        snprintf(ret, KERNEL_VERSION_MAX, "%s", version);
        found++;
    }
    closedir(dir);
    if (found == 1)
        return 0;
    error_set(err, ERROR_INVALID, "the image of template \"%s\" has %d kernels in /boot",
              build->template->name, found);
    return error_hint(err, "\"kernel\" under [image] names one package, and \"packages\" none");
}

/* Where the tree's package tools fetch from, as the recipe asked them. */
static int read_package_hosts(const struct build *build, struct base *base, struct error **err)
{
    autofree char *text = NULL;
    int r = file_read(build->package_hosts, PACKAGE_TEXT_MAX, &text, NULL, err);
    return r < 0 ? r : package_hosts_parse(text, &base->package_hosts, &base->package_host_count, err);
}

/* Everything that a base is, in build->out and on disk. */
static int collect(struct build *build, struct error **err)
{
    char version[KERNEL_VERSION_MAX];
    int r = kernel_version(build, version, err);
    if (r < 0)
        return r;
    autofree char *kernel = xasprintf("%s/boot/vmlinuz-%s", build->root, version);
    autofree char *initrd = xasprintf("%s/boot/initrd.img-%s", build->root, version);
    autofree char *out_kernel = file_join(build->out, "kernel"),
                  *out_initrd = file_join(build->out, "initrd");
    if ((r = file_make_folder(build->out, 0755, err)) < 0 || (r = copy_file(kernel, out_kernel, err)) < 0 ||
        (r = copy_file(initrd, out_initrd, err)) < 0)
        return r;
    /* The tree has served: its space is the qcow2's. */
    if ((r = make_image(build, err)) < 0 || (r = remove_tree(build, build->root, err)) < 0)
        return r;
    autofree char *disk = file_join(build->out, "disk.qcow2");
    step(build, "image", "qcow2");
    r = runner_run(&build->runner, build->host.prefix,
                   (const char *const[]){build->host.qemu_img, "convert", "-f", "raw", "-O", "qcow2",
                                         build->image, disk, NULL},
                   err);
    if (r < 0 || (r = file_sync(disk, err)) < 0)
        return r;
    if (chmod(disk, 0444) < 0 || chmod(build->out, 0755) < 0)
        return error_set_errno(err, errno, "cannot change \"%s\"", disk);
    struct base base = {
        .template_name = build->template->name,
        .kernel_version = version,
        .virtual_size = build->template->disk_min,
        .built_ns = units_now_ns(),
    };
    memcpy(base.digest, build->template->digest, sizeof(base.digest));
    if ((r = read_package_hosts(build, &base, err)) == 0)
        r = base_write(&base, build->out, err);
    free(base.package_hosts);
    return r < 0 ? r : file_sync(build->out, err);
}

/* One rename makes it a base. What stood there was damaged. */
static int publish(struct build *build, struct error **err)
{
    autofree char *target = file_join(build->bases, build->template->digest);
    step(build, "publish", build->template->name);
    if (file_exists(target)) {
        int r = base_remove(build->paths, build->template->digest, err);
        if (r < 0)
            return r;
    }
    if (rename(build->out, target) < 0)
        return error_set_errno(err, errno, "cannot make \"%s\"", target);
    return file_sync(build->bases, err);
}

/* Adds where the whole log is. */
static void point_to_log(const struct build *build, struct error **err)
{
    if (!err || !*err || !build->log || (*err)->code == ERROR_CANCELLED)
        return;
    autofree char *hint = xstrdup((*err)->hint);
    /* The way out comes first, the builder's own words last. */
    const char *lines = hint ? strstr(hint, "its last lines: ") : NULL;
    int before = (int)(lines ? lines - hint : 0);
    error_hint(err, "%.*sthe whole log: %s%s%s", before, hint ? hint : "", build->log_path, hint ? "; " : "",
               lines  ? lines
               : hint ? hint
                      : "");
}

/* The steps that need the lock. */
static int run(struct build *build, struct error **err)
{
    int r = prepare(build, err);
    if (!r)
        r = bootstrap(build, err);
    if (!r)
        r = collect(build, err);
    if (!r)
        r = publish(build, err);
    point_to_log(build, err);
    remove_tree(build, build->folder, NULL);
    return r;
}

int base_build(const struct paths *paths, const struct template *template, image_progress_fn progress,
               void *user, const atomic_bool *cancel, struct base **ret_base, struct error **err)
{
    if (!base_find(paths, template->digest, ret_base, NULL))
        return 0;
    struct build build = {
        .paths = paths, .template = template, .progress_fn = progress, .user = user, .cancel = cancel};
    auto(error) struct error *why = NULL;
    int r = begin(&build, &why);
    if (!r)
        r = take_lock(&build, &why);
    /* Another may have built it meanwhile. */
    if (!r && base_find(paths, template->digest, ret_base, NULL) < 0) {
        r = run(&build, &why);
        if (!r)
            r = base_find(paths, template->digest, ret_base, &why);
    }
    build_finish(&build);
    if (r < 0) {
        error_prefix(&why, "template \"%s\"", template->name);
        return error_move(err, &why);
    }
    return 0;
}

int base_check_host(const struct paths *paths, const struct template *template, struct error **err)
{
    struct host host;
    struct mirrors mirrors = {0};
    int r = host_init(&host, err);
    if (r < 0)
        return r;
    r = mirrors_find(paths, template, "/etc/apt", &mirrors, err);
    if (!r)
        r = host_check(&host, err);
    mirrors_finish(&mirrors);
    host_finish(&host);
    return r;
}
