/* File systems that a guest has made to hurt: each ends in an error that names what it was, or in an answer;
 * never in a crash, and never not at all. HUTCH_FUZZ_S=SECONDS damages images at random for so long. */
#include "diff_world.h"

#include "diff/archive.h"
#include "diff/changes.h"
#include "diff/child.h"

#include <time.h>

#define BLOCK     4096
#define MAP_AT    40 /* of an inode: where its data is */
#define FUZZ_RUNS 60

struct hostile {
    char *raw, *base;
    uint8_t *data;
    size_t len;
};

static void hostile_make(struct hostile *hostile, const char *scratch)
{
    autofree char *tree = file_join(scratch, "tree");
    put_file(tree, "etc/hostname", "demo\n");
    put_file(tree, "a/b/c", "c\n");
    put_file(tree, "a/d", "d\n");
    put_file(tree, "var/lib/dpkg/status", "Package: a\nStatus: install ok installed\nVersion: 1\n");
    hostile->raw = make_raw(scratch, tree);
    struct stat st;
    int fd = open(hostile->raw, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    hostile->len = (size_t)st.st_size;
    hostile->data = mmap(NULL, hostile->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(hostile->data != MAP_FAILED);
    close(fd);
}

static void hostile_finish(struct hostile *hostile)
{
    munmap(hostile->data, hostile->len);
    free(hostile->raw);
    free(hostile->base);
}

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void set16(uint8_t *p, unsigned value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void set32(uint8_t *p, uint32_t value)
{
    set16(p, value & 0xffff);
    set16(p + 2, value >> 16);
}

/* An inode of the first group. */
static uint8_t *inode_of(struct hostile *hostile, uint32_t inode)
{
    size_t table = (size_t)get32(hostile->data + BLOCK + 8) * BLOCK;
    return hostile->data + table + (size_t)(inode - 1) * 256;
}

/* The inode at a path, by the file system as it is. */
static uint32_t number_of(struct hostile *hostile, const char *scratch, const char *path)
{
    autofree char *layer = file_join(scratch, "look.qcow2");
    struct world world;
    struct budget budget;
    struct volume *volume = NULL;
    struct node node;
    uint32_t inode = 0;
    RUN("qemu-img", "convert", "-f", "raw", "-O", "qcow2", hostile->raw, layer);
    world_init(&world, NULL, (const char *[]){layer, NULL});
    budget_begin(&budget, 60);
    assert_ok(volume_open(&world.new, &budget, &volume, &err));
    assert_ok(volume_lookup(volume, path, &inode, &node, &err));
    volume_close(volume);
    world_finish(&world);
    return inode;
}

/* Asks the confined program about the image as it is now. */
static int ask(struct hostile *hostile, const char *scratch, enum diff_mode mode, const char *path,
               struct error **err)
{
    autofree char *layer = file_join(scratch, "hostile.qcow2");
    RUN("qemu-img", "convert", "-f", "raw", "-O", "qcow2", hostile->raw, layer);
    char *const chain[] = {layer, NULL};
    struct child_ask question = {.program = TEST_PROGRAMS "/hutch-diff",
                                 .mode = mode,
                                 .path = path,
                                 .answer_max = 1 << 20,
                                 .new = chain};
    int out = memfd_create("answer", MFD_CLOEXEC);
    int rc = child_run(&question, out, err);
    close(out);
    return rc;
}

static void says_what_is_no_ext4(void **state)
{
    struct hostile hostile = {0};
    hostile_make(&hostile, *state);
    memset(hostile.data, 0, 2 * BLOCK);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/", &err), ERROR_INVALID, "no file system that is known");
    memcpy(hostile.data, "XFSB", 4);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/", &err), ERROR_INVALID, "an XFS file system");
    memcpy(hostile.data + 512, "EFI PART", 8);
    memset(hostile.data, 0, 4);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/", &err), ERROR_INVALID, "a partition table");
    hostile_finish(&hostile);
}

static void ends_circles(void **state)
{
    struct hostile hostile = {0};
    hostile_make(&hostile, *state);
    run_with((const char *const[]){"debugfs", "-w", "-f", "-", hostile.raw, NULL}, "ln /a /a/b/again\n");
    assert_error(ask(&hostile, *state, DIFF_FOLDER, "/a", &err), ERROR_LIMIT, "circle of folders");
    hostile_finish(&hostile);
}

/* 2^47 bytes without a block. */
static void limits_sizes(void **state)
{
    struct hostile hostile = {0};
    hostile_make(&hostile, *state);
    uint8_t *inode = inode_of(&hostile, number_of(&hostile, *state, "/a/d"));
    set32(inode + 108, 1 << 15);
    assert_error(ask(&hostile, *state, DIFF_FILE, "/a/d", &err), ERROR_LIMIT, "more than one answer may be");
    set32(inode + 108, 1 << 15);
    set16(inode, 0120777);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, "has a target of");
    hostile_finish(&hostile);
}

static void names_bad_extents(void **state)
{
    struct hostile hostile = {0};
    hostile_make(&hostile, *state);
    uint32_t number = number_of(&hostile, *state, "/a");
    uint8_t *map = inode_of(&hostile, number) + MAP_AT, saved[60];
    autofree char *words = xasprintf("the folder with inode %u", number);
    memcpy(saved, map, 60);
    memset(map, 0xff, 60); /* no head of extents */
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, words);
    memcpy(map, saved, 60);
    set32(map + 12 + 8, 0x7fffffff); /* a block behind the end */
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, words);
    memcpy(map, saved, 60);
    size_t block = get32(map + 12 + 8);
    set16(hostile.data + block * BLOCK + 4, 3); /* an entry shorter than its head */
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, "entries are damaged");
    set16(hostile.data + block * BLOCK + 4, 12);
    hostile.data[block * BLOCK + 24 + 8] = '/'; /* a name that leads elsewhere */
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, "whose name cannot be one");
    hostile_finish(&hostile);
}

/* A head of extents or of an index: entries, most, depth. */
static void extent_head(uint8_t *at, unsigned entries, unsigned most, unsigned depth)
{
    set16(at, 0xf30a);
    set16(at + 2, entries);
    set16(at + 4, most);
    set16(at + 6, depth);
    set32(at + 8, 0);
}

/* An entry of an index. */
static void extent_entry(uint8_t *node, uint32_t i, uint32_t logical, uint32_t block)
{
    set32(node + 12 * (i + 1), logical);
    set32(node + 12 * (i + 1) + 4, block);
    set32(node + 12 * (i + 1) + 8, 0);
}

/* Millions of entries in few blocks: extents that lead to the same block over and over. */
static void ends_huge_folders(void **state)
{
    struct hostile hostile = {0};
    hostile_make(&hostile, *state);
    uint32_t number = number_of(&hostile, *state, "/a");
    uint8_t *inode = inode_of(&hostile, number), *map = inode + MAP_AT;
    uint32_t index = 9000, leaf = 10000, entries = 9500, logical = 0;
    autofree char *words = xasprintf("the folder with inode %u: it has more than", number);
    extent_head(map, 4, 4, 2);
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t *block = hostile.data + (index + i) * BLOCK;
        extent_entry(map, i, logical, index + i);
        extent_head(block, 200, 340, 1);
        for (uint32_t k = 0; k < 200; k++, leaf++) {
            uint8_t *last = hostile.data + (size_t)leaf * BLOCK;
            extent_entry(block, k, logical, leaf);
            extent_head(last, 340, 340, 0);
            for (uint32_t n = 0; n < 340; n++) {
                set32(last + 12 * (n + 1), logical++);
                set32(last + 12 * (n + 1) + 4, 1);
                set32(last + 12 * (n + 1) + 8, entries);
            }
        }
    }
    uint8_t *block = hostile.data + entries * BLOCK;
    for (unsigned i = 0; i < BLOCK / 16; i++) {
        set32(block + 16 * i, 12);
        set16(block + 16 * i + 4, 16);
        set16(block + 16 * i + 6, 1 << 8 | 4);
        memcpy(block + 16 * i + 8, "name", 4);
    }
    set32(inode + 4, 0x7fffffff);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_LIMIT, words);
    /* and the same without any entry, which is no entry too many but too many blocks */
    for (unsigned i = 0; i < BLOCK / 16; i++)
        set32(block + 16 * i, 0);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_LIMIT, words);
    /* an index that leads to itself, or back */
    extent_entry(map, 1, 1, index);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, "not in order");
    extent_entry(map, 0, 0, index);
    extent_entry(hostile.data + index * BLOCK, 0, 0, index);
    assert_error(ask(&hostile, *state, DIFF_STAT, "/a/d", &err), ERROR_CORRUPT, "extents are damaged");
    hostile_finish(&hostile);
}

/* The layers themselves. */
static void refuses_damaged_layers(void **state)
{
    static const struct {
        off_t at;
        uint8_t bytes[8];
        size_t len;
        const char *words;
    } cases[] = {
        {0, "XXXX", 4, "no qcow2 image"},
        {32, {0, 0, 0, 1}, 4, "encrypted"},
        {72, {0, 0, 0, 0, 0, 0, 0, 2}, 8, "marked as damaged"},
        {72, {0, 0, 0, 0, 0, 0, 0, 4}, 8, "in another file"},
        {72, {1, 0, 0, 0, 0, 0, 0, 0}, 8, "not known"},
        {20, {0, 0, 0, 40}, 4, "impossible size"},
        {36, {0, 0, 0, 0}, 4, "damaged first table"},
        {40, {0x7f, 0, 0, 0, 0, 0, 0, 0}, 8, "damaged first table"},
    };
    struct hostile hostile = {0};
    hostile_make(&hostile, *state);
    hostile.base = make_base(*state, hostile.raw);
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *copy = file_join(*state, "damaged.qcow2");
        struct image *image = NULL;
        RUN("cp", hostile.base, copy);
        int fd = open(copy, O_RDWR | O_CLOEXEC);
        assert_int_equal(pwrite(fd, cases[i].bytes, cases[i].len, cases[i].at), cases[i].len);
        assert_error(image_open(fd, &image, &err), ERROR_CORRUPT, cases[i].words);
        close(fd);
    }
    hostile_finish(&hostile);
}

/* ---- at random ---- */

/* All that can be asked of an image. */
static void ask_all(const struct disk *old, const struct disk *new)
{
    struct sink *sink = xnew(struct sink);
    struct budget budget;
    struct volume *volume = NULL;
    sink->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    report_changes(old, new, sink, NULL);
    report_changes(new, old, sink, NULL);
    budget_begin(&budget, 20);
    if (volume_open(new, &budget, &volume, NULL) == 0) {
        archive_folder(volume, "/", sink, NULL);
        archive_file(volume, "/a/b/c", sink, NULL);
        archive_stat(volume, "/etc/hostname", sink, NULL);
        volume_close(volume);
    }
    close(sink->fd);
    free(sink);
}

/* Overwrites some bytes of metadata: heads, tables, maps, folders, the journal. *ret_at, saved: to undo it.
 */
static void damage(uint8_t *data, const size_t *blocks, size_t count, unsigned *seed)
{
    unsigned hits = 1 + (unsigned)rand_r(seed) % 6;
    for (unsigned i = 0; i < hits; i++) {
        uint8_t *block = data + blocks[(size_t)rand_r(seed) % count] * BLOCK;
        size_t at = (size_t)rand_r(seed) % BLOCK, len = 1u << rand_r(seed) % 4;
        static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
        uint8_t value = rand_r(seed) % 3 ? (uint8_t)rand_r(seed) : values[rand_r(seed) % 5];
        for (size_t k = 0; k < len && at + k < BLOCK; k++)
            block[at + k] = rand_r(seed) % 2 ? value : (uint8_t)rand_r(seed);
    }
}

static void survives_damage(void **state)
{
    struct hostile hostile = {0};
    const char *limit = getenv("HUTCH_FUZZ_S");
    time_t end = time(NULL) + (limit ? strtol(limit, NULL, 10) : 0);
    unsigned seed = limit ? (unsigned)time(NULL) : 1, runs = 0;
    size_t blocks[2048], count = 0;
    hostile_make(&hostile, *state);
    autofree char *commands = xstrdup("sif /etc mtime 20260101000000\nsif /a/d mode 0100600\n");
    run_with((const char *const[]){"debugfs", "-w", "-f", "-", hostile.raw, NULL}, commands);
    hostile.base = make_base(*state, hostile.raw);
    autofree char *top = file_join(*state, "top.qcow2");
    RUN("qemu-img", "convert", "-f", "raw", "-O", "qcow2", hostile.raw, top);
    /* all that is not zeros, found in the layer itself: its own tables are damaged too */
    size_t len, other;
    uint8_t *clean = map_raw(top, &len);
    for (size_t at = 0; at + BLOCK <= len && count < countof(blocks); at += BLOCK)
        for (size_t k = 0; k < BLOCK; k++)
            if (clean[at + k]) {
                blocks[count++] = at / BLOCK;
                break;
            }
    int fd = open(top, O_RDWR | O_CLOEXEC);
    uint8_t *data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(fd >= 0 && data != MAP_FAILED);
    uint8_t *saved = xmemdup(clean, len);
    while (limit ? time(NULL) < end : runs < FUZZ_RUNS) {
        struct world world = {0};
        unsigned began = seed;
        damage(data, blocks, count, &seed);
        if (limit)
            fprintf(stderr, "\r%u runs, seed %u ", runs, began);
        struct image *image = NULL;
        world.old.layers[world.old.count++] = world_open(&world, hostile.base);
        int copy = open(top, O_RDONLY | O_CLOEXEC);
        if (image_open(copy, &image, NULL) == 0) {
            world.new.layers[world.new.count++] = image;
            world.images[world.count++] = image;
            ask_all(&world.old, &world.new);
        } else {
            close(copy);
        }
        world_finish(&world);
        for (size_t i = 0; i < count; i++)
            memcpy(data + blocks[i] * BLOCK, saved + blocks[i] * BLOCK, BLOCK);
        runs++;
    }
    (void)other;
    free(saved);
    munmap(clean, len);
    munmap(data, len);
    close(fd);
    hostile_finish(&hostile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(says_what_is_no_ext4), scratch_test(ends_circles),
        scratch_test(limits_sizes),         scratch_test(names_bad_extents),
        scratch_test(ends_huge_folders),    scratch_test(refuses_damaged_layers),
        scratch_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
