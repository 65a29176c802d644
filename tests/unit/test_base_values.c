/* Values: errors, buffers, units, log lines. */
#include "test_base_scratch.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

static void errors_carry_their_chain(void **state)
{
    struct error *err = NULL;
    assert_int_equal(error_set(&err, ERROR_NOT_FOUND, "no project \"%s\"", "shop"), -ERROR_NOT_FOUND);
    assert_int_equal(error_prefix(&err, "up %d", 3), -ERROR_NOT_FOUND);
    assert_int_equal(error_hint(&err, "try `%s`", "hutch ls"), -ERROR_NOT_FOUND);
    assert_int_equal(error_hint(&err, "second"), -ERROR_NOT_FOUND);
    assert_string_equal(err->message, "up 3: no project \"shop\"");
    assert_string_equal(err->hint, "second");
    struct error *copy = error_copy(err), *moved = NULL;
    assert_int_equal(error_move(&moved, &err), -ERROR_NOT_FOUND);
    assert_null(err);
    assert_string_equal(moved->message, copy->message);
    assert_string_equal(moved->hint, copy->hint);
    assert_int_equal(error_move(NULL, &moved), -ERROR_NOT_FOUND);
    assert_null(moved);
    assert_int_equal(error_move(&err, &moved), 0);
    error_free(copy);
    error_free(NULL);
    assert_null(error_copy(NULL));
}

static void errors_work_without_a_place(void **state)
{
    assert_int_equal(error_set(NULL, ERROR_BUSY, "x"), -ERROR_BUSY);
    assert_int_equal(error_set_errno(NULL, ENOSPC, "x"), -ERROR_NO_SPACE);
    /* never 0: the caller returns it as a failure */
    assert_int_equal(error_prefix(NULL, "x"), -ERROR_FAILED);
    struct error *none = NULL;
    assert_int_equal(error_hint(&none, "x"), -ERROR_FAILED);
    assert_null(none);
}

static void system_errors_get_codes(void **state)
{
    static const struct {
        int sys;
        enum error_code code;
    } cases[] = {{ENOSPC, ERROR_NO_SPACE},
                 {EDQUOT, ERROR_NO_SPACE},
                 {ENOENT, ERROR_NOT_FOUND},
                 {EACCES, ERROR_IO},
                 {EIO, ERROR_IO}};
    for (size_t i = 0; i < countof(cases); i++) {
        auto(error) struct error *err = NULL;
        assert_int_equal(error_set_errno(&err, cases[i].sys, "cannot open \"%s\"", "f"), -(int)cases[i].code);
        assert_int_equal(err->sys, cases[i].sys);
        autofree char *want = xasprintf("cannot open \"f\": %s", strerror(cases[i].sys));
        assert_string_equal(err->message, want);
    }
}

static void messages_are_one_safe_line(void **state)
{
    struct error *err = NULL;
    error_set(&err, ERROR_FAILED, "git said \"%s\"", "\x1b]0;x\x07\nrm -rf \xe2\x80\xae/");
    assert_string_equal(err->message, "git said \"\\e]0;x\\x07\\nrm -rf \\u{202E}/\"");
    error_prefix(&err, "a\nb");
    error_hint(&err, "c\nd");
    assert_null(strchr(err->message, '\n'));
    assert_string_equal(err->hint, "c\\nd");
    error_free(err);
    err = NULL;
    autofree char *large = xrealloc(NULL, 100001, 1);
    memset(large, 'x', 100000);
    large[100000] = '\0';
    error_set(&err, ERROR_FAILED, "%s", large);
    assert_true(strlen(err->message) <= 2048);
    error_free(err);
}

static void code_tables_agree(void **state)
{
    for (int code = ERROR_NONE + 1; code < ERROR_COUNT; code++) {
        assert_int_equal(error_code_from_name(error_code_name(code)), code);
        assert_true(error_code_exit(code) > 0 && error_code_exit(code) < 126);
        assert_true(error_code_http(code) >= 400 && error_code_http(code) < 600);
        assert_true(strlen(error_code_about(code)) > 5);
    }
    assert_int_equal(error_code_from_name("of-another-version"), ERROR_FAILED);
    assert_int_equal(error_code_from_name(NULL), ERROR_FAILED);
    assert_string_equal(error_code_name(ERROR_COUNT + 5), "failed");
    assert_int_equal(error_code_exit(ERROR_TIMED_OUT), 124);
    assert_int_equal(error_code_exit(ERROR_NONE), 0);
}

static void buffers_keep_their_limit(void **state)
{
    struct buf buf;
    buf_init(&buf, 10);
    assert_int_equal(buf_room(&buf), 10);
    assert_non_null(buf_data(&buf));
    assert_ok(buf_append(&buf, "12345678", 8, &err));
    assert_error(buf_append(&buf, "abc", 3, &err), ERROR_LIMIT, "10 bytes");
    assert_int_equal(buf.len, 8);
    assert_null(buf_reserve(&buf, 3));
    assert_ok(buf_append(&buf, "90", 2, &err));
    assert_int_equal(buf_room(&buf), 0);
    buf_consume(&buf, 4);
    assert_int_equal(buf_room(&buf), 4);
    assert_memory_equal(buf_data(&buf), "567890", 6);
    uint8_t *space = buf_reserve(&buf, 4);
    assert_non_null(space);
    memcpy(space, "wxyz", 4);
    buf_commit(&buf, 3);
    autofree char *all = buf_take_string(&buf);
    assert_string_equal(all, "567890wxy");
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf_room(&buf), 10);
    assert_error(buf_printf(&buf, &err, "%011d", 1), ERROR_LIMIT, "10");
    assert_ok(buf_printf(&buf, &err, "%d-%s", 7, "x"));
    assert_memory_equal(buf_data(&buf), "7-x", 3);
    buf_finish(&buf);
    buf_finish(&buf);
}

static void empty_buffers_are_strings(void **state)
{
    struct buf buf;
    buf_init(&buf, 0);
    assert_int_equal(buf_room(&buf), SIZE_MAX);
    autofree char *empty = buf_take_string(&buf);
    assert_string_equal(empty, "");
    buf_finish(&buf);
}

/* Against a plain model, with sizes that make it grow, move and wrap. */
static void buffers_are_queues(void **state)
{
    struct buf buf;
    unsigned seed = 3;
    uint8_t in = 0, out = 0;
    size_t held = 0;
    buf_init(&buf, 100000);
    for (int round = 0; round < 20000; round++) {
        uint8_t block[700];
        size_t n = rand_r(&seed) % sizeof(block);
        if (rand_r(&seed) % 2 && n <= buf_room(&buf)) {
            for (size_t i = 0; i < n; i++)
                block[i] = in++;
            if (rand_r(&seed) % 2) {
                assert_int_equal(buf_append(&buf, block, n, NULL), 0);
            } else {
                memcpy(buf_reserve(&buf, n), block, n);
                buf_commit(&buf, n);
            }
            held += n;
        } else {
            n = n < buf.len ? n : buf.len;
            for (size_t i = 0; i < n; i++)
                assert_int_equal(buf_data(&buf)[i], out++);
            buf_consume(&buf, n);
            held -= n;
        }
        assert_int_equal(buf.len, held);
    }
    buf_consume(&buf, buf.len);
    buf_finish(&buf);
}

static void empty_buffers_give_memory_back(void **state)
{
    struct buf buf;
    buf_init(&buf, 0);
    autofree char *block = xcalloc(1, 1 << 20);
    assert_ok(buf_append(&buf, block, 1 << 20, &err));
    buf_consume(&buf, 1 << 20);
    assert_true(buf.cap <= 65536);
    buf_finish(&buf);
}

static void sizes_are_read(void **state)
{
    static const struct {
        const char *s;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"1K", 1024},
                {"512M", 512ull << 20},
                {"2G", 2ull << 30},
                {"1T", 1ull << 40},
                {"18446744073709551615", UINT64_MAX},
                {"16777215T", 16777215ull << 40}};
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "-1",
                                      "+1",
                                      "1.5G",
                                      "G",
                                      "1g",
                                      "1GB",
                                      "1KK",
                                      "0x10",
                                      "1P",
                                      "18446744073709551616",
                                      "16777216T",
                                      "1G\n",
                                      "٣"};
    uint64_t value;
    for (size_t i = 0; i < countof(good); i++) {
        assert_ok(units_parse_size(good[i].s, &value, &err));
        assert_true(value == good[i].bytes);
    }
    for (size_t i = 0; i < countof(bad); i++)
        assert_error(units_parse_size(bad[i], &value, &err), ERROR_INVALID, "is not a size");
    struct error *err = NULL;
    units_parse_size("1GB", &value, &err);
    assert_string_equal(err->message, "\"1GB\" is not a size");
    assert_non_null(strstr(err->hint, "2G"));
    error_free(err);
}

static void durations_are_read(void **state)
{
    static const struct {
        const char *s;
        uint64_t seconds;
    } good[] = {{"0", 0}, {"90", 90}, {"90s", 90}, {"5m", 300}, {"2h", 7200}, {"3d", 259200}};
    static const char *const bad[] = {
        "", "s", "5 m", "5min", "-5m", "1.5h", "5M", "1h30m", "213503982334602d"};
    uint64_t value;
    for (size_t i = 0; i < countof(good); i++) {
        assert_ok(units_parse_duration(good[i].s, &value, &err));
        assert_int_equal(value, good[i].seconds);
    }
    for (size_t i = 0; i < countof(bad); i++)
        assert_error(units_parse_duration(bad[i], &value, &err), ERROR_INVALID, "is not a duration");
}

static void numbers_have_bounds(void **state)
{
    uint64_t value = 7;
    assert_ok(units_parse_number("1", 1, 64, &value, &err));
    assert_ok(units_parse_number("64", 1, 64, &value, &err));
    assert_int_equal(value, 64);
    static const char *const bad[] = {"0", "65", "", "1x", "-1", " 1", "99999999999999999999"};
    for (size_t i = 0; i < countof(bad); i++)
        assert_error(units_parse_number(bad[i], 1, 64, &value, &err), ERROR_INVALID, "from 1 to 64");
    assert_int_equal(value, 64);
}

static void sizes_are_written(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *s;
    } cases[] = {{0, "0B"},
                 {12, "12B"},
                 {1023, "1023B"},
                 {1024, "1K"},
                 {1536, "1.5K"},
                 {980 << 10, "980K"},
                 {(1 << 20) - 1, "1M"},
                 {6550000000, "6.1G"},
                 {64ull << 30, "64G"},
                 {(10ull << 30) - 1, "10G"},
                 {1ull << 40, "1T"},
                 {UINT64_MAX, "16E"}};
    char s[UNITS_SIZE_MAX];
    for (size_t i = 0; i < countof(cases); i++)
        assert_string_equal(units_format_size(cases[i].bytes, s), cases[i].s);
}

static void durations_are_written(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *s;
    } cases[] = {{0, "0s"},       {38, "38s"},  {60, "1m"},       {250, "4m 10s"},
                 {7500, "2h 5m"}, {7201, "2h"}, {273600, "3d 4h"}};
    char s[UNITS_DURATION_MAX];
    for (size_t i = 0; i < countof(cases); i++)
        assert_string_equal(units_format_duration(cases[i].seconds, s), cases[i].s);
    assert_true(strlen(units_format_duration(UINT64_MAX, s)) < UNITS_DURATION_MAX);
}

static void times_are_written(void **state)
{
    char s[UNITS_TIME_MAX];
    assert_string_equal(units_format_time(0, s), "1970-01-01T00:00:00.000Z");
    assert_string_equal(units_format_time(1795982400123456789, s), "2026-11-29T20:00:00.123Z");
    assert_string_equal(units_format_time(-1, s), "1969-12-31T23:59:59.999Z");
    units_format_time(INT64_MAX, s);
    units_format_time(INT64_MIN, s);
    int64_t a = units_monotonic_ns(), b = units_monotonic_ns();
    assert_true(b >= a);
    assert_true(units_now_ns() > 1700000000000000000);
}

static void random_names_differ(void **state)
{
    autofree char *a = units_random_hex(8), *b = units_random_hex(8), *none = units_random_hex(0);
    assert_int_equal(strlen(a), 16);
    assert_int_equal(strspn(a, "0123456789abcdef"), 16);
    assert_string_not_equal(a, b);
    assert_string_equal(none, "");
}

static void copies_of_nothing_are_fine(void **state)
{
    assert_null(xstrdup(NULL));
    autofree char *cut = xstrndup("abc", 2), *longer = xstrndup("abc", 20);
    assert_string_equal(cut, "ab");
    assert_string_equal(longer, "abc");
    autofree void *zero = xcalloc(0, 8), *again = xrealloc(NULL, 0, 8);
    assert_non_null(zero);
    assert_non_null(again);
}

static void child_overflow(void)
{
    free(xrealloc(NULL, SIZE_MAX / 2, 4));
}

static void child_require(void)
{
    require(1 + 1 == 3);
}

static void child_second_error(void)
{
    struct error *err = NULL;
    error_set(&err, ERROR_FAILED, "one");
    error_set(&err, ERROR_FAILED, "two");
}

/* Programming errors end the program, with a line that says where. */
static void mistakes_abort(void **state)
{
    static void (*const mistakes[])(void) = {child_overflow, child_require, child_second_error};
    for (size_t i = 0; i < countof(mistakes); i++) {
        int fds[2], status;
        char words[256] = "";
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (!pid) {
            signal(SIGABRT, SIG_DFL);
            dup2(fds[1], STDERR_FILENO);
            mistakes[i]();
            _exit(0);
        }
        close(fds[1]);
        assert_true(read(fds[0], words, sizeof(words) - 1) > 0);
        close(fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        assert_non_null(strchr(words, '\n'));
    }
}

/* What log_write puts on stderr. */
static char *logged(void (*fn)(void))
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(fds[1], STDERR_FILENO);
    close(fds[1]);
    fn();
    dup2(saved, STDERR_FILENO);
    close(saved);
    char *out = xcalloc(1, 65536);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], out + len, 65535 - len)) > 0;)
        len += n;
    close(fds[0]);
    return out;
}

static void log_some(void)
{
    log_init("hutchd");
    log_set_level(LOG_LEVEL_INFO);
    log_debug("never seen");
    errno = EBADF;
    log_info("the guest said \"%s\"", "\x1b[2J\nfake line");
    assert_int_equal(errno, EBADF);
    log_error("second");
}

static void log_large(void)
{
    autofree char *large = xcalloc(1, 50001);
    memset(large, 'x', 50000);
    log_warning("%s", large);
}

static void log_lines_are_safe(void **state)
{
    autofree char *out = logged(log_some);
    char *second = strchr(out, '\n');
    assert_non_null(second);
    *second++ = '\0';
    assert_string_equal(out + 24, " hutchd: the guest said \"\\e[2J\\nfake line\"");
    assert_int_equal(out[10], 'T');
    assert_int_equal(out[23], 'Z');
    assert_string_equal(second + 24, " hutchd: error: second\n");
    autofree char *large = logged(log_large);
    assert_true(strlen(large) < 4096);
    assert_non_null(strstr(large, "warning: xxx"));
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_carry_their_chain),
        cmocka_unit_test(errors_work_without_a_place),
        cmocka_unit_test(system_errors_get_codes),
        cmocka_unit_test(messages_are_one_safe_line),
        cmocka_unit_test(code_tables_agree),
        cmocka_unit_test(buffers_keep_their_limit),
        cmocka_unit_test(empty_buffers_are_strings),
        cmocka_unit_test(buffers_are_queues),
        cmocka_unit_test(empty_buffers_give_memory_back),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(numbers_have_bounds),
        cmocka_unit_test(sizes_are_written),
        cmocka_unit_test(durations_are_written),
        cmocka_unit_test(times_are_written),
        cmocka_unit_test(random_names_differ),
        cmocka_unit_test(copies_of_nothing_are_fine),
        cmocka_unit_test(mistakes_abort),
        cmocka_unit_test(log_lines_are_safe),
    };
    return cmocka_run_group_tests_name("base values", tests, NULL, NULL);
}
