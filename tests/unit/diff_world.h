/* diff_world.h: disks for the tests of src/diff, made without root: a folder becomes ext4 by mke2fs -d and
 * qcow2 by qemu-img; debugfs changes a copy; the blocks that differ become an overlay by qemu-io, as a
 * machine would have written it. */
#ifndef HUTCH_TEST_DIFF_WORLD_H
#define HUTCH_TEST_DIFF_WORLD_H

#include "test_base_scratch.h"

#include "base/fd.h"
#include "base/spawn.h"
#include "diff/disk.h"
#include "diff/image.h"
#include "diff/report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CLUSTER 65536

static inline void run_with(const char *const *argv, const char *input)
{
    const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBUGFS_PAGER=cat", NULL};
    int in = -1;
    if (input) {
        in = memfd_create("input", MFD_CLOEXEC);
        assert_int_equal(write(in, input, strlen(input)), strlen(input));
        lseek(in, 0, SEEK_SET);
    }
    struct spawn spawn = {.argv = argv, .env = env, .in = in, .out = -1, .err = -1};
    assert_ok(spawn_run(&spawn, 60000, 1 << 20, NULL, &err));
    if (in >= 0)
        close(in);
}
#define RUN(...) run_with((const char *const[]){__VA_ARGS__, NULL}, NULL)

static inline void put_file(const char *folder, const char *name, const char *text)
{
    autofree char *path = file_join(folder, name);
    mkdir(folder, 0755);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* A raw ext4 of 64 MiB out of a folder, with the features of hutch's bases. */
static inline char *make_raw(const char *scratch, const char *folder)
{
    char *raw = file_join(scratch, "old.raw");
    RUN("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-O",
        "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_"
        "file,huge_file,dir_nlink,extra_isize,metadata_csum",
        "-J", "size=4", "-E", "lazy_itable_init=1,nodiscard", "-U", "11111111-2222-4333-8444-555555555555",
        "-d", folder, raw, "65536k");
    return raw;
}

/* A copy of it that debugfs has changed. */
static inline char *change_raw(const char *scratch, const char *raw, const char *name, const char *commands)
{
    char *copy = file_join(scratch, name);
    RUN("cp", "--sparse=always", raw, copy);
    run_with((const char *const[]){"debugfs", "-w", "-f", "-", copy, NULL}, commands);
    return copy;
}

static inline char *make_base(const char *scratch, const char *raw)
{
    char *base = file_join(scratch, "base.qcow2");
    RUN("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, base);
    return base;
}

static inline uint8_t *map_raw(const char *path, size_t *ret_len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    uint8_t *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(data != MAP_FAILED);
    close(fd);
    *ret_len = (size_t)st.st_size;
    return data;
}

/* An overlay on `below` (which holds what `old` holds) that makes it `new`: only what differs is written. */
static inline char *make_overlay(const char *scratch, const char *name, const char *below, const char *old,
                                 const char *new)
{
    char *path = file_join(scratch, name);
    autofree char *piece = file_join(scratch, "piece");
    size_t len, other;
    uint8_t *a = map_raw(old, &other), *b = map_raw(new, &len);
    assert_int_equal(len, other);
    RUN("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", below, path);
    for (size_t at = 0; at < len; at += CLUSTER) {
        if (memcmp(a + at, b + at, CLUSTER) == 0)
            continue;
        int fd = open(piece, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, b + at, CLUSTER), CLUSTER);
        close(fd);
        autofree char *command = xasprintf("write -q -s %s %zu %u", piece, at, CLUSTER);
        RUN("qemu-io", "-f", "qcow2", "-c", command, path);
    }
    munmap(a, other);
    munmap(b, len);
    return path;
}

/* Opens chains in this process; paths top first. Layers that have the same path are one. */
struct world {
    struct image *images[8];
    const char *paths[8];
    size_t count;
    struct disk old, new;
};

static inline struct image *world_open(struct world *world, const char *path)
{
    for (size_t i = 0; i < world->count; i++)
        if (strcmp(world->paths[i], path) == 0)
            return world->images[i];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_ok(image_open(fd, &world->images[world->count], &err));
    world->paths[world->count] = path;
    return world->images[world->count++];
}

static inline void world_init(struct world *world, const char *const *old, const char *const *new)
{
    *world = (struct world){0};
    for (size_t i = 0; old && old[i]; i++)
        world->old.layers[world->old.count++] = world_open(world, old[i]);
    for (size_t i = 0; new &&new[i]; i++)
        world->new.layers[world->new.count++] = world_open(world, new[i]);
}

static inline void world_finish(struct world *world)
{
    for (size_t i = 0; i < world->count; i++)
        image_close(world->images[i]);
}

/* The lines in a descriptor as an array. */
static inline json_t *read_lines(int fd)
{
    json_t *lines = json_array();
    char *text = NULL;
    size_t room = 0;
    lseek(fd, 0, SEEK_SET);
    autofclose FILE *file = fdopen(fd, "r");
    while (getline(&text, &room, file) > 0) {
        json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(line);
        json_array_append_new(lines, line);
    }
    free(text);
    return lines;
}

/* The comparison in this process. */
static inline json_t *compare(struct world *world)
{
    struct sink *sink = xnew(struct sink);
    sink->fd = memfd_create("lines", MFD_CLOEXEC);
    assert_ok(report_changes(&world->old, &world->new, sink, &err));
    assert_ok(sink_flush(sink, &err));
    json_t *lines = read_lines(sink->fd);
    free(sink);
    return lines;
}

static inline const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* "added /a", "renamed /b -> /c", …, one a line, sorted as they came; of kinds other than files their own
 * words. */
static inline char *tell(const json_t *lines)
{
    char *out = xstrdup("");
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line)
    {
        const char *kind = text_of(line, "kind"), *from = text_of(line, "from");
        char *more = NULL;
        if (strcmp(kind, "file") == 0)
            more = *from ? xasprintf("%s%s %s -> %s\n", out, text_of(line, "change"), from,
                                     text_of(line, "path"))
                         : xasprintf("%s%s %s\n", out, text_of(line, "change"), text_of(line, "path"));
        else if (strcmp(kind, "package") == 0)
            more = xasprintf("%spackage %s %s %s>%s\n", out, text_of(line, "name"), text_of(line, "arch"),
                             text_of(line, "old"), text_of(line, "new"));
        else if (strcmp(kind, "service") == 0)
            more = xasprintf("%sservice %s %s\n", out, text_of(line, "what"), text_of(line, "unit"));
        else if (strcmp(kind, "git") == 0)
            more = xasprintf("%sgit %s %s:%.7s>%s:%.7s\n", out, text_of(line, "path"),
                             text_of(json_object_get(line, "old"), "branch"),
                             text_of(json_object_get(line, "old"), "commit"),
                             text_of(json_object_get(line, "new"), "branch"),
                             text_of(json_object_get(line, "new"), "commit"));
        if (more) {
            free(out);
            out = more;
        }
    }
    return out;
}

static inline json_t *row_of(const json_t *lines, const char *path)
{
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) if (strcmp(text_of(line, "path"), path) == 0 &&
                                           strcmp(text_of(line, "kind"), "file") == 0) return line;
    return NULL;
}

#endif
