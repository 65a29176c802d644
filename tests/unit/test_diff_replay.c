/* The journal of a file system that was not left in order is read through: what its replay would make is what
 * is seen. debugfs writes the journals; e2fsck says what they mean. */
#include "diff_world.h"

#include "diff/replay.h"

#define BLOCK 4096

/* Writes the blocks in which two raw images differ into the journal of a copy of the first. options: of
 * debugfs's journal_open. revoke: forbids the first of them again. */
static char *make_dirty(const char *scratch, const char *old, const char *new, const char *options,
                        bool revoke)
{
    autofree char *blocks = file_join(scratch, "blocks");
    autofree char *list = xstrdup("");
    char *dirty = file_join(scratch, "dirty.raw");
    size_t len, first = 0;
    uint8_t *a = map_raw(old, &len), *b = map_raw(new, &len);
    int fd = open(blocks, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t at = 0; at < len; at += BLOCK) {
        if (memcmp(a + at, b + at, BLOCK) == 0)
            continue;
        char *more = xasprintf("%s%s%zu", list, *list ? "," : "", at / BLOCK);
        free(list);
        list = more;
        first = first ? first : at / BLOCK;
        assert_int_equal(write(fd, b + at, BLOCK), BLOCK);
    }
    close(fd);
    munmap(a, len);
    munmap(b, len);
    assert_true(*list);
    RUN("cp", "--sparse=always", old, dirty);
    autofree char *forbid = revoke ? xasprintf("jw -r %zu\n", first) : xstrdup("");
    autofree char *commands = xasprintf("jo %s\njw -b %s %s\n%sjc\n", options, list, blocks, forbid);
    run_with((const char *const[]){"debugfs", "-w", "-f", "-", dirty, NULL}, commands);
    return dirty;
}

/* All blocks of a volume are those of a raw image that e2fsck has brought in order. */
static void same_as_e2fsck(const char *scratch, const char *dirty, uint32_t transactions)
{
    autofree char *clean = file_join(scratch, "clean.raw");
    autofree char *layer = file_join(scratch, "dirty.qcow2");
    struct world world;
    struct budget budget;
    struct volume *volume = NULL;
    size_t len, journal = 0, different = 0;
    uint8_t block[BLOCK];
    RUN("cp", "--sparse=always", dirty, clean);
    RUN("sh", "-c", "e2fsck -y -E journal_only \"$1\"; test $? -le 1", "sh", clean);
    RUN("qemu-img", "convert", "-f", "raw", "-O", "qcow2", dirty, layer);
    world_init(&world, NULL, (const char *[]){layer, NULL});
    budget_begin(&budget, 60);
    assert_ok(volume_open(&world.new, &budget, &volume, &err));
    uint8_t *right = map_raw(clean, &len), *before = map_raw(dirty, &len);
    for (size_t at = 0; at < len; at += BLOCK) {
        bool changed = memcmp(right + at, before + at, BLOCK) != 0;
        if (at == 0)
            continue; /* the superblock says that there was a journal, and counts mounts */
        if (changed && memcmp(before + at, "\xc0\x3b\x39\x98", 4) == 0) {
            journal++; /* the journal's own head */
            continue;
        }
        different += changed;
        assert_ok(volume_read(volume, at, block, BLOCK, &err));
        assert_memory_equal(block, right + at, BLOCK);
    }
    assert_true(journal <= 1);
    assert_true(transactions == 0 ? different == 0 : different > 0);
    munmap(right, len);
    munmap(before, len);
    volume_close(volume);
    world_finish(&world);
}

static void check(const char *scratch, const char *options, bool revoke)
{
    autofree char *tree = file_join(scratch, "tree");
    autofree char *fresh = file_join(scratch, "fresh");
    /* the first bytes of its second block are those of a block of the journal: it is written escaped */
    char text[2 * BLOCK + 8];
    memset(text, 'x', sizeof(text));
    memcpy(text + BLOCK, "\xc0\x3b\x39\x98", 4);
    text[sizeof(text) - 1] = '\0';
    put_file(tree, "etc/hostname", "demo\n");
    put_file(scratch, "fresh", text);
    autofree char *raw = make_raw(scratch, tree);
    autofree char *commands = xasprintf("write %s /etc/new\nsif /etc mtime 20260101000000\n", fresh);
    autofree char *changed = change_raw(scratch, raw, "changed.raw", commands);
    autofree char *dirty = make_dirty(scratch, raw, changed, options, revoke);
    same_as_e2fsck(scratch, dirty, 1);
    if (revoke)
        return;
    /* and so a file that is in the journal alone is seen */
    autofree char *base = make_base(scratch, raw);
    autofree char *top = make_overlay(scratch, "1.qcow2", base, raw, dirty);
    struct world world;
    world_init(&world, (const char *[]){base, NULL}, (const char *[]){top, base, NULL});
    json_t *lines = compare(&world);
    autofree char *told = tell(lines);
    assert_string_equal(told, "added /etc/new\n");
    json_decref(lines);
    world_finish(&world);
}

static void replays_without_checksums(void **state)
{
    check(*state, "", false);
}

static void replays_with_checksums(void **state)
{
    check(*state, "-c -v 3", false);
}

static void replays_with_old_checksums(void **state)
{
    check(*state, "-c -v 2", false);
}

static void obeys_revokes(void **state)
{
    check(*state, "-c -v 3", true);
}

/* ---- journals by hand ---- */

struct made {
    uint8_t blocks[16][1024];
};

static int read_made(void *user, uint32_t index, uint8_t *data, struct error **err)
{
    memcpy(data, ((struct made *)user)->blocks[index], 1024);
    return 0;
}

static void set32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static void head(uint8_t *block, uint32_t type, uint32_t sequence)
{
    set32(block, REPLAY_MAGIC);
    set32(block + 4, type);
    set32(block + 8, sequence);
}

/* A journal of 16 blocks that begins in block 14 and goes round: block 77 in transaction 5, and 78 in 6. */
static void make_journal(struct made *made)
{
    memset(made, 0, sizeof(*made));
    head(made->blocks[0], 4, 0);
    set32(made->blocks[0] + 12, 1024);
    set32(made->blocks[0] + 16, 16);
    set32(made->blocks[0] + 20, 1);
    set32(made->blocks[0] + 24, 5);
    set32(made->blocks[0] + 28, 14);
    head(made->blocks[14], 1, 5);
    set32(made->blocks[14] + 12, 77);
    made->blocks[14][19] = 8 | 2;
    head(made->blocks[1], 2, 5);
    head(made->blocks[2], 1, 6);
    set32(made->blocks[2] + 12, 78);
    made->blocks[2][19] = 8 | 2;
    head(made->blocks[4], 2, 6);
}

static void goes_round(void **state)
{
    struct made made;
    struct replay replay = {0};
    make_journal(&made);
    assert_ok(replay_make(read_made, &made, 16, 1024, &replay, &err));
    assert_int_equal(replay.transactions, 2);
    assert_int_equal(replay_find(&replay, 77)->journal, 15);
    assert_int_equal(replay_find(&replay, 78)->journal, 3);
    assert_null(replay_find(&replay, 79));
    replay_finish(&replay);
}

/* What was not committed did not happen. */
static void leaves_out_what_is_not_whole(void **state)
{
    struct made made;
    struct replay replay = {0};
    make_journal(&made);
    set32(made.blocks[4] + 8, 9);
    assert_ok(replay_make(read_made, &made, 16, 1024, &replay, &err));
    assert_int_equal(replay.transactions, 1);
    assert_non_null(replay_find(&replay, 77));
    assert_null(replay_find(&replay, 78));
    replay_finish(&replay);
}

static void refuses_heads(void **state)
{
    static const struct {
        size_t at;
        uint32_t value;
        int code;
        const char *words;
    } cases[] = {
        {0, 1, ERROR_CORRUPT, "no head"},   {12, 4096, ERROR_CORRUPT, "no head"},
        {16, 17, ERROR_CORRUPT, "damaged"}, {20, 0, ERROR_CORRUPT, "damaged"},
        {28, 16, ERROR_CORRUPT, "damaged"}, {40, 0x40, ERROR_INVALID, "not known"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct made made;
        struct replay replay = {0};
        make_journal(&made);
        set32(made.blocks[0] + cases[i].at, cases[i].value);
        assert_error(replay_make(read_made, &made, 16, 1024, &replay, &err), cases[i].code, cases[i].words);
    }
    struct made made;
    struct replay replay = {0};
    assert_error(replay_make(read_made, &made, JOURNAL_BLOCKS_MAX + 1, 1024, &replay, &err), ERROR_LIMIT,
                 "blocks");
}

/* A descriptor without an end, and one that goes on for ever. */
static void ends_always(void **state)
{
    struct made made;
    struct replay replay = {0};
    make_journal(&made);
    for (size_t i = 1; i < 16; i++) {
        head(made.blocks[i], 1, 5);
        made.blocks[i][19] = 2;
    }
    assert_ok(replay_make(read_made, &made, 16, 1024, &replay, &err));
    assert_int_equal(replay.transactions, 0);
    assert_int_equal(replay.count, 0);
    for (size_t i = 1; i < 16; i++)
        head(made.blocks[i], 2, 5);
    assert_ok(replay_make(read_made, &made, 16, 1024, &replay, &err));
    assert_int_equal(replay.transactions, 1);
    replay_finish(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scratch_test(replays_without_checksums),
        scratch_test(replays_with_checksums),
        scratch_test(replays_with_old_checksums),
        scratch_test(obeys_revokes),
        cmocka_unit_test(goes_round),
        cmocka_unit_test(leaves_out_what_is_not_whole),
        cmocka_unit_test(refuses_heads),
        cmocka_unit_test(ends_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
