/* What nobody should send: random bytes, sequences of all kinds with random numbers, floods. */
#include "emulator_world.h"

#include "base/alloc.h"
#include "tests/lib/emulator_check.h"

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void check(struct world *world, unsigned *seed)
{
    check_shown(world->emulator, world->grid, (int)(next(seed) % 30));
    assert_true(only_answers(buf_data(&world->input), world->input.len));
    buf_consume(&world->input, world->input.len);
}

static void maybe_resize(struct world *world, unsigned *seed)
{
    if (next(seed) % 4 == 0)
        resize(world, 1 + (int)(next(seed) % 60), 1 + (int)(next(seed) % 140));
}

static void test_random_bytes(void **state)
{
    unsigned seed = 1;
    for (int round = 0; round < 20; round++) {
        struct world w;
        world_init(&w, 24, 80);
        for (int i = 0; i < 50; i++) {
            uint8_t bytes[1024];
            for (size_t k = 0; k < sizeof(bytes); k++)
                bytes[k] = (uint8_t)next(&seed);
            emulator_feed(w.emulator, bytes, sizeof(bytes));
            check(&w, &seed);
            maybe_resize(&w, &seed);
        }
        world_finish(&w);
    }
}

/* Sequences that are nearly right, of which random bytes have few. */
static void test_random_sequences(void **state)
{
    static const char *const heads[] = {
        "\033[", "\033[?", "\033[>", "\033[<", "\033[=", "\033", "\033]", "\033P", "\033#", "\033("};
    static const char *const tails[] = {"\033\\",       "\007",     "\030", "x",
                                        "\xe4\xb8\xad", "\xcc\x81", "\r\n", "\xf0\x9f\x98\x80"};
    unsigned seed = 2;
    for (int round = 0; round < 40; round++) {
        struct world w;
        world_init(&w, 1 + (int)(next(&seed) % 30), 1 + (int)(next(&seed) % 90));
        for (int i = 0; i < 2000; i++) {
            char text[64];
            size_t n = (size_t)snprintf(text, sizeof(text), "%s", heads[next(&seed) % countof(heads)]);
            for (unsigned args = next(&seed) % 4; args > 0; args--) {
                static const unsigned numbers[] = {0, 1, 2, 5, 25, 38, 1049, 2004, 65535, 4294967295u};
                n += (size_t)snprintf(text + n, sizeof(text) - n, "%u%c",
                                      numbers[next(&seed) % countof(numbers)], next(&seed) % 5 ? ';' : ':');
            }
            if (next(&seed) % 8 == 0)
                text[n++] = (char)(' ' + next(&seed) % 16);
            text[n++] = (char)('@' + next(&seed) % 62);
            snprintf(text + n, sizeof(text) - n, "%s", tails[next(&seed) % countof(tails)]);
            feed(&w, text);
            if (next(&seed) % 16 == 0)
                check(&w, &seed);
            if (next(&seed) % 64 == 0)
                maybe_resize(&w, &seed);
        }
        check(&w, &seed);
        world_finish(&w);
    }
}

/* Many times more of one thing than anybody means: bounded work, bounded memory, bounded answers. */
static void A16_floods(void **state)
{
    static const char *const floods[] = {
        "\033[6n",
        "\xcc\x81",
        "\033[9999b",
        "\033[9999L",
        "\033[9999@",
        "\033[9999S",
        "\033[2J",
        "\033#8",
        "\033[?1049h\033[?1049l",
        "\0337\0338",
        "\033[>1u",
        "\033c",
        "\007",
        "\033[9999I",
        "a\xcc\x81",
        "\033[48;5;1m\033[2J",
    };
    for (size_t i = 0; i < countof(floods); i++) {
        struct world w;
        unsigned seed = 3;
        world_init(&w, 24, 80);
        struct buf bytes;
        buf_init(&bytes, 0);
        while (bytes.len < 64 << 10)
            buf_append(&bytes, floods[i], strlen(floods[i]), NULL);
        emulator_feed(w.emulator, buf_data(&bytes), bytes.len);
        assert_true(w.input.len <= 4096);
        assert_true(w.bells <= 1);
        assert_true(emulator_lines(w.emulator) <= EMULATOR_LINES);
        check(&w, &seed);
        buf_finish(&bytes);
        world_finish(&w);
    }
}

/* A string without an end is not waited for for ever; nothing of it is kept meanwhile. */
static void test_endless_string(void **state)
{
    struct world w;
    world_init(&w, 2, 10);
    feed(&w, "a\033P");
    static uint8_t block[1 << 20];
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 9; i++)
        emulator_feed(w.emulator, block, sizeof(block));
    char *text = shown(&w, 0, false);
    assert_non_null(strstr(text, "xxx"));
    free(text);
    world_finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_random_sequences),
        cmocka_unit_test(A16_floods),
        cmocka_unit_test(test_endless_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
