/* Hostile archives change nothing outside of their place. */
#include "test_cli_archive.h"

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

static void G14_modes(void **state)
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

static void G14_paths_that_lead_out(void **state)
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

static void G14_kinds(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(test_plain_tree),
        scratch_test(G14_modes),
        scratch_test(G14_paths_that_lead_out),
        scratch_test(test_long_names_that_lead_out),
        scratch_test(test_links_that_lead_out),
        scratch_test(test_file_through_link),
        scratch_test(test_hard_links),
        scratch_test(G14_kinds),
        scratch_test(test_conflicts),
        scratch_test(test_pax_nonsense),
        scratch_test(test_damaged),
        scratch_test(test_sizes),
        scratch_test(test_bombs),
        scratch_test(test_unfinished),
    };
    alarm(120);
    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
