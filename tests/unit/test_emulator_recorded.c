/* What real programs wrote (tests/screen/terminal_recorded, 80x24, TERM=xterm-256color) and what is to be
 * seen of it (tests/screen/golden/terminal-of-NAME; GENERATE=1 writes it anew). The golden files were
 * compared with what another terminal emulator makes of the same bytes. */
#include "emulator_world.h"

#include "base/alloc.h"
#include "base/file.h"
#include "tests/lib/emulator_check.h"

static const char *const programs[] = {"vim", "less", "htop", "top", "tmux"};

static char *read_whole(const char *folder, const char *prefix, const char *name, size_t *ret_len)
{
    const char *top = getenv("srcdir");
    autofree char *path = xasprintf("%s/tests/screen/%s/%s%s", top ? top : ".", folder, prefix, name);
    char *bytes = NULL;
    if (file_read(path, 1 << 20, &bytes, ret_len, NULL) < 0)
        fail_msg("\"%s\" cannot be read; GENERATE=1 writes golden files", path);
    return bytes;
}

/* Fed in pieces of a size. */
static char *show(const char *bytes, size_t len, size_t step)
{
    struct world w;
    world_init(&w, 24, 80);
    for (size_t i = 0; i < len; i += step)
        emulator_feed(w.emulator, (const uint8_t *)bytes + i, len - i < step ? len - i : step);
    char *text = shown(&w, 0, true);
    check_cells(w.grid);
    assert_true(only_answers(buf_data(&w.input), w.input.len));
    world_finish(&w);
    return text;
}

static void test_programs(void **state)
{
    for (size_t i = 0; i < countof(programs); i++) {
        size_t len, golden_len;
        autofree char *bytes = read_whole("terminal_recorded", "", programs[i], &len);
        autofree char *text = show(bytes, len, len);
        if (getenv("GENERATE")) {
            const char *top = getenv("srcdir");
            autofree char *path =
                xasprintf("%s/tests/screen/golden/terminal-of-%s", top ? top : ".", programs[i]);
            assert_int_equal(file_replace(path, text, strlen(text), 0644, NULL), 0);
        }
        autofree char *golden = read_whole("golden", "terminal-of-", programs[i], &golden_len);
        if (strcmp(text, golden) != 0)
            fail_msg("%s is another screen:\n%s\ninstead of\n%s", programs[i], text, golden);
        for (size_t step = 1; step < 50; step += 7) {
            autofree char *pieces = show(bytes, len, step);
            assert_string_equal(pieces, golden);
        }
    }
}

/* A program under another size than the one it draws for, and back: the terminal's part stays whole. */
static void test_resized(void **state)
{
    for (size_t i = 0; i < countof(programs); i++) {
        size_t len;
        autofree char *bytes = read_whole("terminal_recorded", "", programs[i], &len);
        struct world w;
        world_init(&w, 24, 80);
        for (size_t k = 0; k < len; k += 100) {
            resize(&w, 1 + (int)(k / 100 * 7 % 50), 1 + (int)(k / 100 * 13 % 120));
            emulator_feed(w.emulator, (const uint8_t *)bytes + k, len - k < 100 ? len - k : 100);
            check_shown(w.emulator, w.grid, 0);
        }
        world_finish(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_resized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
