/* Layers: made by qemu-img, read by us; damaged and hostile heads are refused. */
#include "test_base_scratch.h"

#include "base/spawn.h"
#include "vm/layer.h"
#include "vm/qcow2.h"
#include "vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static void run(const char *const *argv)
{
    struct spawn spawn = {.argv = argv, .in = -1, .out = -1, .err = -1};
    assert_ok(spawn_run(&spawn, 30000, 65536, NULL, &err));
}

/* A base of 16 MiB. */
static char *make_base(const char *folder)
{
    char *path = file_join(folder, "base.qcow2");
    const char *argv[] = {"qemu-img", "create", "-q", "-f", "qcow2", path, "16M", NULL};
    run(argv);
    return path;
}

/* Writes bytes into a file. */
static void patch(const char *path, off_t at, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, len, at), len);
    close(fd);
}

static void makes_chains(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *one = file_join(*state, "a b'1.qcow2");
    autofree char *two = file_join(*state, "2.qcow2");
    struct layer_info info;
    char **chain = NULL;
    assert_ok(layer_create(one, base, (uint64_t)32 << 20, &err));
    assert_ok(layer_create(two, one, (uint64_t)32 << 20, &err));
    assert_ok(layer_chain(two, &chain, &err));
    assert_string_equal(chain[0], two);
    assert_string_equal(chain[1], one);
    assert_string_equal(chain[2], base);
    assert_null(chain[3]);
    vm_free_chain(chain);
    assert_ok(layer_inspect(two, &info, &err));
    assert_int_equal(info.virtual_size, 32 << 20);
    assert_string_equal(info.backing, one);
    assert_true(info.disk_size > 0);
    assert_false(info.dirty);
    layer_info_finish(&info);
    /* qemu-img sees the same. */
    const char *argv[] = {"qemu-img", "check", "-q", "-f", "qcow2", two, NULL};
    run(argv);
}

static void refuses_to_shrink(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *path = file_join(*state, "1.qcow2");
    autofree char *temporary = xasprintf("%s.new", path);
    assert_error(layer_create(path, base, 4096, &err), ERROR_INVALID, "smaller than its base");
    assert_false(file_exists(path));
    assert_error(layer_create("x", base, 1 << 25, &err), ERROR_INVALID, "full paths");
    assert_error(layer_create(path, "/nowhere/base", 1 << 25, &err), ERROR_NOT_FOUND, "/nowhere/base");
    assert_false(file_exists(temporary));
}

/* What a killed attempt left does not stand in the way. */
static void starts_over(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *path = file_join(*state, "1.qcow2");
    autofree char *temporary = xasprintf("%s.new", path);
    assert_ok(file_replace(temporary, "half", 4, 0600, &err));
    assert_ok(layer_create(path, base, 1 << 25, &err));
    assert_false(file_exists(temporary));
}

static void sees_missing_layers_and_circles(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *one = file_join(*state, "1.qcow2");
    autofree char *two = file_join(*state, "2.qcow2");
    char **chain = NULL;
    assert_ok(layer_create(one, base, 1 << 25, &err));
    assert_ok(layer_create(two, one, 1 << 25, &err));
    assert_int_equal(unlink(base), 0);
    assert_error(layer_chain(two, &chain, &err), ERROR_CORRUPT, "base.qcow2");
    const char *argv[] = {"qemu-img", "rebase", "-u", "-f", "qcow2", "-F", "qcow2", "-b", two, one, NULL};
    run(argv);
    assert_error(layer_chain(two, &chain, &err), ERROR_CORRUPT, "circle");
    assert_error(layer_chain("/nowhere/x", &chain, &err), ERROR_NOT_FOUND, "/nowhere/x");
    assert_null(chain);
}

static void limits_the_depth(void **state)
{
    char *previous = make_base(*state);
    char **chain = NULL;
    for (int i = 0; i < LAYER_DEPTH_MAX - 1; i++) {
        autofree char *name = xasprintf("%d.qcow2", i);
        char *path = file_join(*state, name);
        assert_ok(layer_create(path, previous, 1 << 25, &err));
        free(previous);
        previous = path;
    }
    assert_ok(layer_chain(previous, &chain, &err));
    vm_free_chain(chain);
    chain = NULL;
    autofree char *last = file_join(*state, "last.qcow2");
    assert_ok(layer_create(last, previous, 1 << 25, &err));
    assert_error(layer_chain(last, &chain, &err), ERROR_CORRUPT, "more than 64");
    free(previous);
}

/* A layer that says of itself what only a hostile QEMU would write. */
static void G17_refuses_hostile_heads(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *path = file_join(*state, "1.qcow2");
    autofree char *link = file_join(*state, "link.qcow2");
    autofree char *fifo = file_join(*state, "fifo");
    autofree char *raw = file_join(*state, "raw");
    struct qcow2_head head;
    static const struct {
        off_t at;
        const char *bytes;
        size_t len;
        const char *words;
    } patches[] = {
        {0, "X", 1, "no qcow2"},
        {7, "\x09", 1, "unknown version"},
        {79, "\x04", 1, "another file"}, /* incompatible: data file */
        {79, "\x02", 1, "damaged"},      /* corrupt */
        {79, "\x40", 1, "not known"},    /* unknown feature */
        {35, "\x01", 1, "encrypted"},
        {103, "\x01", 1, "damaged head"}, /* header length */
        {100, "\xff", 1, "damaged head"},
        {16, "\xff", 1, "damaged name"},            /* length of the backing name */
        {8, "\xff", 1, "damaged name"},             /* its place */
        {112, "DATA\0\0\0\x01", 8, "another file"}, /* an extension that names a data file */
        {116, "\xff", 1, "damaged head"},           /* length of an extension */
    };
    for (size_t i = 0; i < countof(patches); i++) {
        unlink(path);
        assert_ok(layer_create(path, base, 1 << 25, &err));
        patch(path, patches[i].at, patches[i].bytes, patches[i].len);
        assert_error(qcow2_read(path, &head, &err), ERROR_CORRUPT, patches[i].words);
    }
    assert_int_equal(symlink(base, link), 0);
    assert_error(qcow2_read(link, &head, &err), ERROR_CORRUPT, "is a link");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_error(qcow2_read(fifo, &head, &err), ERROR_CORRUPT, "no regular file");
    assert_ok(file_replace(raw, "QFI\xfb", 4, 0600, &err));
    assert_error(qcow2_read(raw, &head, &err), ERROR_CORRUPT, "no qcow2");
    assert_error(qcow2_read("/nowhere", &head, &err), ERROR_NOT_FOUND, "/nowhere");
}

/* Backing names that QEMU would take for something else than a file, and formats that it would probe. */
static void G17_refuses_odd_backing(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *path = file_join(*state, "1.qcow2");
    struct qcow2_head head;
    static const struct {
        const char *name, *format;
    } odd[] = {{"json:{\"driver\":\"file\"}", "qcow2"},
               {"nbd://127.0.0.1/x", "qcow2"},
               {"ssh:a/b", "qcow2"},
               {"/etc/shadow", "raw"}};
    for (size_t i = 0; i < countof(odd); i++) {
        const char *argv[] = {"qemu-img",    "rebase", "-u",        "-f", "qcow2", "-F",
                              odd[i].format, "-b",     odd[i].name, path, NULL};
        unlink(path);
        assert_ok(layer_create(path, base, 1 << 25, &err));
        run(argv);
        assert_error(qcow2_read(path, &head, &err), ERROR_CORRUPT, odd[i].name);
    }
}

/* Any damage in the first 4 KiB is an error or a head within bounds. */
static void survives_damage(void **state)
{
    autofree char *base = make_base(*state);
    autofree char *path = file_join(*state, "1.qcow2");
    struct qcow2_head head;
    assert_ok(layer_create(path, base, 1 << 25, &err));
    for (off_t at = 0; at < 700; at++) {
        char old, bytes[] = {0, 1, '\x7f', '\xff'};
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(pread(fd, &old, 1, at), 1);
        for (size_t i = 0; i < sizeof(bytes); i++) {
            assert_int_equal(pwrite(fd, bytes + i, 1, at), 1);
            if (qcow2_read(path, &head, NULL) == 0)
                assert_true(strlen(head.backing) <= QCOW2_BACKING_MAX);
        }
        assert_int_equal(pwrite(fd, &old, 1, at), 1);
        close(fd);
    }
    assert_ok(qcow2_read(path, &head, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(makes_chains),
        scratch_test(refuses_to_shrink),
        scratch_test(starts_over),
        scratch_test(sees_missing_layers_and_circles),
        scratch_test(limits_the_depth),
        scratch_test(G17_refuses_hostile_heads),
        scratch_test(G17_refuses_odd_backing),
        scratch_test(survives_damage),
    };
    struct spawn probe = {
        .argv = (const char *const[]){"qemu-img", "--version", NULL}, .in = -1, .out = -1, .err = -1};
    if (spawn_run(&probe, 30000, 65536, NULL, NULL) == -ERROR_MISSING)
        return 77;
    alarm(600);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
