/* Archives: ours are what tar reads, tar's are read by ours, and hostile ones change nothing outside of their
 * place. */
#include "test_base_scratch.h"

#include "base/buf.h"
#include "base/spawn.h"
#include "cli/tar.h"
#include "cli/tree.h"
#include "cli/untar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- making archives by hand ---- */

static void octal(char *field, size_t size, unsigned long long value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static void finish_head(char *head)
{
    unsigned sum = 0;
    memset(head + 148, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
}

/* One entry with its body, filled up to whole blocks. */
static void entry(struct buf *out, char type, const char *name, const char *target, const char *body,
                  size_t len)
{
    char head[TAR_BLOCK] = {0};
    memcpy(head, name, strnlen(name, 100));
    octal(head + 100, 8, type == '5' ? 0755 : 0644);
    octal(head + 108, 8, 0);
    octal(head + 116, 8, 0);
    octal(head + 124, 12, len);
    octal(head + 136, 12, 0);
    head[156] = type;
    if (target)
        memcpy(head + 157, target, strnlen(target, 100));
    memcpy(head + 257, "ustar\00000", 8);
    finish_head(head);
    assert_int_equal(buf_append(out, head, sizeof(head), NULL), 0);
    assert_int_equal(buf_append(out, body, len, NULL), 0);
    static const char zeros[TAR_BLOCK];
    assert_int_equal(buf_append(out, zeros, (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK, NULL), 0);
}

static void folder(struct buf *out, const char *name)
{
    entry(out, '5', name, NULL, "", 0);
}

static void file(struct buf *out, const char *name, const char *body)
{
    entry(out, '0', name, NULL, body, strlen(body));
}

/* Changes the last head of out (which has no body) and mends its sum. */
static char *last_head(struct buf *out)
{
    return (char *)(uintptr_t)buf_data(out) + out->len - TAR_BLOCK;
}

static void end(struct buf *out)
{
    static const char zeros[2 * TAR_BLOCK];
    assert_int_equal(buf_append(out, zeros, sizeof(zeros), NULL), 0);
}

/* ---- reading them ---- */

struct notes {
    size_t count;
    char last[512];
};

static void note(const char *text, void *user)
{
    struct notes *notes = user;
    notes->count++;
    snprintf(notes->last, sizeof(notes->last), "%s", text);
}

/* Unpacks below SCRATCH/place, "top" as "new", in pieces. The scratch folder has a file "outside" beside it.
 */
static int unpack_at(const char *scratch, const struct buf *archive, size_t piece, struct notes *notes,
                     struct error **err)
{
    autofree char *place = file_join(scratch, "place");
    mkdir(place, 0700);
    autoclose int fd = open(place, O_RDONLY | O_DIRECTORY);
    const struct untar_options options = {.folder = fd,
                                          .expect = "top",
                                          .as = "new",
                                          .entries_max = 1000,
                                          .bytes_max = 1 << 20,
                                          .note = note,
                                          .user = notes};
    auto(untar) struct untar *untar = untar_create(&options);
    int rc = 0;
    for (size_t at = 0; at < archive->len && rc == 0; at += piece)
        rc = untar_feed(untar, buf_data(archive) + at, archive->len - at < piece ? archive->len - at : piece,
                        err);
    if (rc == 0)
        rc = untar_end(untar, err);
    return rc;
}

static void unpack_ok(const char *scratch, struct buf *archive, size_t skipped)
{
    static const size_t pieces[] = {1 << 20, 1, 511, 513};
    for (size_t i = 0; i < countof(pieces); i++) {
        struct notes notes = {0};
        auto(error) struct error *err = NULL;
        if (unpack_at(scratch, archive, pieces[i], &notes, &err) < 0)
            fail_msg("refused: %s", err->message);
        if (notes.count != skipped)
            fail_msg("%zu entries left out, wanted %zu: %s", notes.count, skipped, notes.last);
    }
    buf_finish(archive);
}

/* The archive must be refused as a whole, with these words. */
static void unpack_refused(const char *scratch, struct buf *archive, enum error_code code, const char *words)
{
    struct notes notes = {0};
    assert_error(unpack_at(scratch, archive, 4096, &notes, &err), (int)code, words);
    buf_finish(archive);
}

static bool there(const char *scratch, const char *name)
{
    autofree char *path = file_join(scratch, name);
    struct stat st;
    return lstat(path, &st) == 0;
}

static void assert_content(const char *scratch, const char *name, const char *want)
{
    autofree char *path = file_join(scratch, name), *data = NULL;
    size_t len;
    assert_ok(file_read(path, 1 << 20, &data, &len, &err));
    assert_string_equal(data, want);
}

/* No temporary is left anywhere below. */
static void assert_no_temporaries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *item; (item = readdir(dir));) {
        if (strncmp(item->d_name, ".hutch-", 7) == 0)
            fail_msg("%s/%s was left", path, item->d_name);
        autofree char *below = file_join(path, item->d_name);
        struct stat st;
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 && lstat(below, &st) == 0 &&
            S_ISDIR(st.st_mode))
            assert_no_temporaries(below);
    }
    closedir(dir);
}

static void test_plain_tree(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    file(&archive, "top/a", "alpha");
    file(&archive, "top/empty", "");
    file(&archive, "top/deep/without/folders", "made");
    entry(&archive, '2', "top/link", "deep/without", "", 0);
    entry(&archive, '2', "top/deep/up", "../a", "", 0);
    entry(&archive, '1', "top/second", "top/a", "", 0);
    entry(&archive, '0', "top/set", NULL, "id", 2);
    end(&archive);
    unpack_ok(*state, &archive, 0);
    assert_content(*state, "place/new/a", "alpha");
    assert_content(*state, "place/new/empty", "");
    assert_content(*state, "place/new/deep/without/folders", "made");
    assert_content(*state, "place/new/link/folders", "made");
    assert_content(*state, "place/new/deep/up", "alpha");
    struct stat one, two;
    autofree char *a = file_join(*state, "place/new/a"), *second = file_join(*state, "place/new/second");
    assert_int_equal(stat(a, &one) | stat(second, &two), 0);
    assert_int_equal(one.st_ino, two.st_ino);
    assert_no_temporaries(*state);
}

static void test_modes(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    octal(last_head(&archive) + 100, 8, 06000); /* set-id, and nothing for the owner */
    finish_head(last_head(&archive));
    entry(&archive, '0', "top/empty", NULL, "", 0);
    octal(last_head(&archive) + 100, 8, 07777);
    finish_head(last_head(&archive));
    end(&archive);
    umask(022);
    unpack_ok(*state, &archive, 0);
    struct stat st;
    autofree char *top = file_join(*state, "place/new"), *empty = file_join(*state, "place/new/empty");
    assert_int_equal(stat(top, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(empty, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
}

static void test_paths_that_lead_out(void **state)
{
    static const char *const paths[] = {
        "../outside",
        "top/../../outside",
        "/etc/outside",
        "top/a/../../../outside",
        "topper/x",
        "other",
        "top//x",
        "./top/x",
        "top/./x",
        "top/..",
        "",
        "/",
        "..",
        "top/a/..",
    };
    for (size_t i = 0; i < countof(paths); i++) {
        struct buf archive;
        buf_init(&archive, 0);
        file(&archive, paths[i], "bad");
        end(&archive);
        unpack_refused(*state, &archive, ERROR_DENIED, "refused");
    }
    assert_false(there(*state, "outside"));
    assert_false(there(*state, "place/outside"));
}

/* The same paths by a pax head and by a GNU long name. */
static void test_long_names_that_lead_out(void **state)
{
    static const char pax[] = "30 path=top/../../outside/xyz\n";
    struct buf archive;
    buf_init(&archive, 0);
    entry(&archive, 'x', "pax", NULL, pax, strlen(pax));
    file(&archive, "top/harmless", "bad");
    end(&archive);
    unpack_refused(*state, &archive, ERROR_DENIED, "lead out");
    static const char gnu[] = "top/../../outside";
    buf_init(&archive, 0);
    entry(&archive, 'L', "././@LongLink", NULL, gnu, sizeof(gnu));
    file(&archive, "top/harmless", "bad");
    end(&archive);
    unpack_refused(*state, &archive, ERROR_DENIED, "lead out");
    assert_false(there(*state, "outside"));
}

static void test_links_that_lead_out(void **state)
{
    static const char *const targets[] = {"/etc/passwd", "..",      "../x",      "a/../..",
                                          "../new/x",    "./../..", "x/../../y", "../../../../etc"};
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    for (size_t i = 0; i < countof(targets); i++) {
        char name[32];
        snprintf(name, sizeof(name), "top/link%zu", i);
        entry(&archive, '2', name, targets[i], "", 0);
    }
    /* ".." behind a name: the name may be a link, and then ".." is not where it seems to be */
    folder(&archive, "top/a/");
    folder(&archive, "top/a/b/");
    entry(&archive, '2', "top/a/b/root", "../..", "", 0);
    entry(&archive, '2', "top/escape", "a/b/root/..", "", 0);
    entry(&archive, '2', "top", "elsewhere", "", 0);
    end(&archive);
    unpack_ok(*state, &archive, countof(targets) + 2);
    for (size_t i = 0; i < countof(targets); i++) {
        char name[32];
        snprintf(name, sizeof(name), "place/new/link%zu", i);
        assert_false(there(*state, name));
    }
    assert_true(there(*state, "place/new/a/b/root"));
    assert_false(there(*state, "place/new/escape"));
    assert_no_temporaries(*state);
}

static void test_file_through_link(void **state)
{
    /* a link that was there before, to a folder outside, and one that came with the archive */
    autofree char *outside = file_join(*state, "outside"), *place = file_join(*state, "place"),
                  *made = file_join(*state, "place/new");
    autofree char *trap = file_join(*state, "place/new/trap"), *victim = file_join(*state, "outside/victim");
    autofree char *file_link = file_join(*state, "place/new/file");
    mkdir(outside, 0700);
    mkdir(place, 0700);
    mkdir(made, 0700);
    assert_int_equal(symlink("../../outside", trap), 0);
    assert_ok(file_replace(victim, "safe", 4, 0600, &err));
    assert_int_equal(symlink("../../outside/victim", file_link), 0);
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    file(&archive, "top/trap/victim", "evil");
    folder(&archive, "top/trap/");
    entry(&archive, '1', "top/hard", "top/trap/victim", "", 0);
    file(&archive, "top/file", "new");
    folder(&archive, "top/d/");
    entry(&archive, '2', "top/inner", "d", "", 0);
    file(&archive, "top/inner/x", "evil");
    end(&archive);
    unpack_ok(*state, &archive, 4);
    assert_content(*state, "outside/victim", "safe");
    assert_content(*state, "place/new/file", "new"); /* the link was replaced, not followed */
    assert_false(there(*state, "place/new/hard"));
    assert_false(there(*state, "place/new/d/x"));
    assert_no_temporaries(*state);
}

static void test_hard_links(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    file(&archive, "top/a", "a");
    entry(&archive, '2', "top/soft", "a", "", 0);
    entry(&archive, '1', "top/to-link", "top/soft", "", 0);
    entry(&archive, '1', "top/to-nothing", "top/nothing", "", 0);
    folder(&archive, "top/d/");
    entry(&archive, '1', "top/to-folder", "top/d", "", 0);
    entry(&archive, '1', "top/a", "top/a", "", 0); /* itself */
    end(&archive);
    unpack_ok(*state, &archive, 3);
    assert_content(*state, "place/new/a", "a");
    assert_no_temporaries(*state);
    static const char *const targets[] = {"/etc/passwd", "../outside", "other/x", "top/../../outside"};
    for (size_t i = 0; i < countof(targets); i++) {
        buf_init(&archive, 0);
        entry(&archive, '1', "top/x", targets[i], "", 0);
        end(&archive);
        unpack_refused(*state, &archive, ERROR_DENIED, "refused");
    }
}

static void test_kinds(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    entry(&archive, '3', "top/char", NULL, "", 0);
    entry(&archive, '4', "top/block", NULL, "", 0);
    entry(&archive, '6', "top/fifo", NULL, "", 0);
    end(&archive);
    unpack_ok(*state, &archive, 3);
    assert_false(there(*state, "place/new/fifo"));
    for (const char *kind = "SVMDNAZ8"; *kind; kind++) {
        buf_init(&archive, 0);
        entry(&archive, *kind, "top/x", NULL, "", 0);
        end(&archive);
        unpack_refused(*state, &archive, ERROR_DENIED, *kind == 'S' ? "sparse" : "unknown kind");
    }
    static const char pax[] = "22 GNU.sparse.major=1\n";
    buf_init(&archive, 0);
    entry(&archive, 'x', "pax", NULL, pax, strlen(pax));
    file(&archive, "top/x", "");
    end(&archive);
    unpack_refused(*state, &archive, ERROR_DENIED, "sparse");
    buf_init(&archive, 0);
    entry(&archive, '5', "top/", NULL, "body", 4);
    end(&archive);
    unpack_refused(*state, &archive, ERROR_PROTOCOL, "can have none");
}

static void test_conflicts(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    file(&archive, "top/a", "file");
    folder(&archive, "top/a/");
    file(&archive, "top/a/below", "x");
    folder(&archive, "top/d/");
    file(&archive, "top/d", "x");
    entry(&archive, '2', "top/d", "a", "", 0);
    file(&archive, "top/a", "again");
    end(&archive);
    unpack_ok(*state, &archive, 4);
    assert_content(*state, "place/new/a", "again");
    assert_no_temporaries(*state);
}

static void test_pax_nonsense(void **state)
{
    static const char *const bodies[] = {
        "x",
        "5 a=b",
        "99 path=top/x\n",
        "0 path=top/x\n",
        "13 path=top/x",
        "abc path=top/x\n",
        "7 path\n",
        "-6 a=b\n",
        "999999999999999999 a=b\n",
        "12 size=-5\n",
        "26 size=9999999999999999\n",
        "8 path=\n",
        "14 path=top/xx\n6",
        "10 size=x\n",
    };
    for (size_t i = 0; i < countof(bodies); i++) {
        struct buf archive;
        buf_init(&archive, 0);
        entry(&archive, 'x', "pax", NULL, bodies[i], strlen(bodies[i]));
        file(&archive, "top/x", "");
        end(&archive);
        struct notes notes = {0};
        auto(error) struct error *err = NULL;
        if (unpack_at(*state, &archive, 4096, &notes, &err) == 0)
            fail_msg("pax body %zu was taken", i);
        assert_true(err->code == ERROR_PROTOCOL || err->code == ERROR_LIMIT);
        buf_finish(&archive);
    }
    struct buf archive;
    buf_init(&archive, 0);
    static const char embedded[] = "14 path=top/\0\n";
    entry(&archive, 'x', "pax", NULL, embedded, 14);
    file(&archive, "top/x", "");
    end(&archive);
    unpack_refused(*state, &archive, ERROR_PROTOCOL, "name");
    /* a global head changes no name; what does not matter is passed over */
    static const char global[] = "15 path=../xyz\n", other[] = "20 mtime=1234567890\n17 path=top/long\n";
    buf_init(&archive, 0);
    entry(&archive, 'g', "pax", NULL, global, strlen(global));
    entry(&archive, 'x', "pax", NULL, other, strlen(other));
    file(&archive, "top/short", "x");
    end(&archive);
    unpack_ok(*state, &archive, 0);
    assert_content(*state, "place/new/long", "x");
}

static void test_damaged(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    file(&archive, "top/a", "content");
    end(&archive);
    /* every cut is noticed, but for one that leaves both empty blocks */
    for (size_t len = 0; len < archive.len; len += len < 1024 ? 37 : 256) {
        struct buf cut;
        buf_init(&cut, 0);
        assert_int_equal(buf_append(&cut, buf_data(&archive), len, NULL), 0);
        unpack_refused(*state, &cut, ERROR_PROTOCOL, "too early");
    }
    assert_no_temporaries(*state);
    /* every changed byte of the first head is noticed */
    for (size_t i = 0; i < TAR_BLOCK; i += 7) {
        struct buf bad;
        buf_init(&bad, 0);
        assert_int_equal(buf_append(&bad, buf_data(&archive), archive.len, NULL), 0);
        ((uint8_t *)(uintptr_t)buf_data(&bad))[i] ^= 0x40;
        struct notes notes = {0};
        assert_true(unpack_at(*state, &bad, 4096, &notes, NULL) < 0);
        buf_finish(&bad);
    }
    /* something behind the end, and an empty block in the middle */
    assert_int_equal(buf_append(&archive, "x", 1, NULL), 0);
    unpack_refused(*state, &archive, ERROR_PROTOCOL, "behind its end");
    buf_init(&archive, 0);
    static const char zeros[TAR_BLOCK];
    assert_int_equal(buf_append(&archive, zeros, sizeof(zeros), NULL), 0);
    folder(&archive, "top/");
    end(&archive);
    unpack_refused(*state, &archive, ERROR_PROTOCOL, "damaged");
}

static void test_sizes(void **state)
{
    static const struct {
        const char *field;
        size_t len;
        enum error_code code;
    } sizes[] = {
        {"77777777777", 12, ERROR_LIMIT},
        {"\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", 12, ERROR_PROTOCOL},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, ERROR_PROTOCOL},
        {"\x80\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff", 12, ERROR_LIMIT},
        {"12x45", 6, ERROR_PROTOCOL},
        {"-1", 3, ERROR_PROTOCOL},
        {"8", 2, ERROR_PROTOCOL},
    };
    for (size_t i = 0; i < countof(sizes); i++) {
        struct buf archive;
        buf_init(&archive, 0);
        entry(&archive, '0', "top/x", NULL, "", 0);
        memset(last_head(&archive) + 124, 0, 12);
        memcpy(last_head(&archive) + 124, sizes[i].field, sizes[i].len);
        finish_head(last_head(&archive));
        end(&archive);
        unpack_refused(*state, &archive, sizes[i].code, "refused");
    }
    assert_false(there(*state, "place/new/x"));
    /* a long-name head that is too long */
    struct buf archive;
    buf_init(&archive, 0);
    entry(&archive, 'L', "l", NULL, "", 0);
    octal(last_head(&archive) + 124, 12, UNTAR_EXTRA_MAX + 1);
    finish_head(last_head(&archive));
    end(&archive);
    unpack_refused(*state, &archive, ERROR_LIMIT, "too long");
}

static void test_bombs(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    for (int i = 0; i < 1001; i++)
        entry(&archive, '6', "top/x", NULL, "", 0);
    end(&archive);
    unpack_refused(*state, &archive, ERROR_LIMIT, "entries");
    autofree char *half = xcalloc(600000, 1);
    memset(half, 'x', 599999);
    buf_init(&archive, 0);
    file(&archive, "top/1", half);
    file(&archive, "top/2", half);
    end(&archive);
    unpack_refused(*state, &archive, ERROR_LIMIT, "bytes");
    autofree char *deep = xcalloc(4096, 1);
    memcpy(deep, "top", 3);
    for (int i = 0; i < 300; i++)
        memcpy(deep + 3 + 2 * i, "/d", 2);
    buf_init(&archive, 0);
    entry(&archive, 'L', "l", NULL, deep, strlen(deep) + 1);
    folder(&archive, "top/");
    end(&archive);
    unpack_refused(*state, &archive, ERROR_DENIED, "deep");
    assert_no_temporaries(*state);
}

/* A copy that stops in the middle leaves no part of the file. */
static void test_unfinished(void **state)
{
    struct buf archive;
    buf_init(&archive, 0);
    folder(&archive, "top/");
    file(&archive, "top/a", "0123456789");
    archive.len -= TAR_BLOCK - 5; /* five of its bytes */
    unpack_refused(*state, &archive, ERROR_PROTOCOL, "too early");
    assert_true(there(*state, "place/new"));
    assert_false(there(*state, "place/new/a"));
    assert_no_temporaries(*state);
}

/* ---- there and back ---- */

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
        scratch_test(test_plain_tree),
        scratch_test(test_modes),
        scratch_test(test_paths_that_lead_out),
        scratch_test(test_long_names_that_lead_out),
        scratch_test(test_links_that_lead_out),
        scratch_test(test_file_through_link),
        scratch_test(test_hard_links),
        scratch_test(test_kinds),
        scratch_test(test_conflicts),
        scratch_test(test_pax_nonsense),
        scratch_test(test_damaged),
        scratch_test(test_sizes),
        scratch_test(test_bombs),
        scratch_test(test_unfinished),
        scratch_test(test_there_and_back),
        scratch_test(test_tar_reads_ours),
        scratch_test(test_we_read_tars),
        scratch_test(test_shrinking),
        scratch_test(test_many_files),
    };
    alarm(120);
    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
