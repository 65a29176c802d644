/* There and back: ours are what tar reads, tar's are read by ours. */
#include "test_cli_archive.h"

static void make(const char *root, const char *name, const char *data)
{
    autofree char *path = file_join(root, name);
    assert_ok(file_replace(path, data, strlen(data), 0640, &err));
}

/* Reads our archive of SCRATCH/FROM, which is called "top" in it. */
static void pack(const char *scratch, const char *from, struct notes *notes, struct buf *out)
{
    autofree char *path = file_join(scratch, from);
    auto(tar) struct tar *tar = NULL;
    assert_ok(tar_create(path, "top", note, notes, &tar, &err));
    buf_init(out, 0);
    for (;;) {
        const uint8_t *data;
        size_t len;
        tar_next(tar, &data, &len);
        if (len == 0)
            break;
        assert_true(len <= 65536);
        assert_int_equal(buf_append(out, data, len, NULL), 0);
    }
    assert_int_equal(tar_skipped(tar), notes->count);
    assert_int_equal(out->len % TAR_BLOCK, 0);
}

/* Odd names, long names, an empty folder, links, a FIFO, a larger file. */
static void make_odd_tree(const char *scratch)
{
    autofree char *from = file_join(scratch, "from"), *empty = file_join(from, "empty"),
                  *link = file_join(from, "link");
    autofree char *fifo = file_join(from, "fifo"), *large = file_join(from, "large");
    mkdir(from, 0755);
    mkdir(empty, 0700);
    make(from, "plain", "plain");
    make(from, "new\nline", "newline");
    make(from, "not-utf8-\xff\xfe", "bytes");
    char name[256] = {0};
    memset(name, 'n', 230);
    make(from, name, "long name");
    autofree char *deep = xstrdup(from);
    for (int i = 0; i < 6; i++) {
        char part[128] = {0};
        memset(part, 'a' + i, 120);
        char *longer = file_join(deep, part);
        free(deep);
        deep = longer;
        assert_int_equal(mkdir(deep, 0755), 0);
    }
    make(deep, "bottom", "deep");
    assert_int_equal(symlink("empty", link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    autofree char *data = xcalloc(300001, 1);
    memset(data, 'L', 300000);
    assert_ok(file_replace(large, data, 300000, 0755, &err));
}

static void compare(const char *scratch, const char *one, const char *two)
{
    const char *const argv[] = {"diff", "-r", "--no-dereference", "-x", "fifo", one, two, NULL};
    const struct spawn spawn = {.argv = argv, .cwd = scratch, .in = -1, .out = -1, .err = -1};
    assert_ok(spawn_run(&spawn, 20000, 4096, NULL, &err));
}

static void test_there_and_back(void **state)
{
    struct notes notes = {0};
    struct buf archive;
    make_odd_tree(*state);
    pack(*state, "from", &notes, &archive);
    assert_int_equal(notes.count, 1);
    assert_non_null(strstr(notes.last, "FIFO"));
    unpack_ok(*state, &archive, 0);
    compare(*state, "from", "place/new");
    struct stat st;
    autofree char *large = file_join(*state, "place/new/large");
    assert_int_equal(stat(large, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_no_temporaries(*state);
}

/* tar itself reads what we write. */
static void test_tar_reads_ours(void **state)
{
    struct notes notes = {0};
    struct buf archive;
    make_odd_tree(*state);
    pack(*state, "from", &notes, &archive);
    autofree char *path = file_join(*state, "archive");
    assert_ok(file_replace(path, buf_data(&archive), archive.len, 0600, &err));
    buf_finish(&archive);
    const char *const argv[] = {"tar", "-xf", "archive", NULL};
    const struct spawn spawn = {.argv = argv, .cwd = *state, .in = -1, .out = -1, .err = -1};
    assert_ok(spawn_run(&spawn, 20000, 4096, NULL, &err));
    compare(*state, "from", "top");
}

/* And we read what tar writes, in each of its formats. */
static void test_we_read_tars(void **state)
{
    static const char *const formats[] = {"--format=gnu", "--format=pax"};
    make_odd_tree(*state);
    autofree char *from = file_join(*state, "from"), *top = file_join(*state, "top"),
                  *path = file_join(*state, "archive");
    autofree char *fifo = file_join(*state, "from/fifo"), *second = file_join(*state, "from/second"),
                  *plain = file_join(*state, "from/plain");
    unlink(fifo);
    assert_int_equal(link(plain, second), 0);
    assert_int_equal(rename(from, top), 0);
    for (size_t i = 0; i < countof(formats); i++) {
        const char *const argv[] = {"tar", formats[i], "-cf", "archive", "--", "top", NULL};
        const struct spawn spawn = {.argv = argv, .cwd = *state, .in = -1, .out = -1, .err = -1};
        assert_ok(spawn_run(&spawn, 20000, 4096, NULL, &err));
        autofree char *data = NULL, *place = file_join(*state, "place");
        size_t len;
        assert_ok(file_read(path, 4 << 20, &data, &len, &err));
        assert_ok(file_remove_tree(place, &err));
        struct buf archive;
        buf_init(&archive, 0);
        assert_int_equal(buf_append(&archive, data, len, NULL), 0);
        unpack_ok(*state, &archive, 0);
        compare(*state, "top", "place/new");
    }
}

/* A file that shrinks while it is read, and one that cannot be opened, are told; the archive stays whole. */
static void test_shrinking(void **state)
{
    autofree char *from = file_join(*state, "from"), *path = file_join(*state, "from/large");
    mkdir(from, 0700);
    autofree char *data = xcalloc(200000, 1);
    assert_ok(file_replace(path, data, 200000, 0600, &err));
    struct notes notes = {0};
    auto(tar) struct tar *tar = NULL;
    assert_ok(tar_create(from, "top", note, &notes, &tar, &err));
    struct buf archive;
    buf_init(&archive, 0);
    for (size_t len = 1; len > 0;) {
        const uint8_t *piece;
        tar_next(tar, &piece, &len);
        assert_int_equal(buf_append(&archive, piece, len, NULL), 0);
        if (tar_bytes(tar) == 65536)
            assert_int_equal(truncate(path, 65536), 0);
    }
    assert_int_equal(notes.count, 1);
    assert_non_null(strstr(notes.last, "shorter"));
    unpack_ok(*state, &archive, 0);
}

static void test_many_files(void **state)
{
    autofree char *from = file_join(*state, "from");
    mkdir(from, 0700);
    autoclose int fd = open(from, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 900; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f%d", i);
        autoclose int one = openat(fd, name, O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(one, name, strlen(name)), (ssize_t)strlen(name));
    }
    /* no descriptor is held for a file that is done */
    const struct rlimit limit = {40, 40};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before) |
                         setrlimit(RLIMIT_NOFILE, &(struct rlimit){40, before.rlim_max}),
                     0);
    assert_int_equal(limit.rlim_cur, 40);
    struct notes notes = {0};
    struct buf archive;
    pack(*state, "from", &notes, &archive);
    assert_int_equal(notes.count, 0);
    unpack_ok(*state, &archive, 0);
    setrlimit(RLIMIT_NOFILE, &before);
    compare(*state, "from", "place/new");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(test_there_and_back), scratch_test(test_tar_reads_ours), scratch_test(test_we_read_tars),
        scratch_test(test_shrinking),      scratch_test(test_many_files),
    };
    alarm(120);
    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
