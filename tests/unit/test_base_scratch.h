/* test_base_scratch.h: what the unit tests of base and journal share: cmocka, a folder that goes away, a time
 * limit. */
#ifndef HUTCH_TEST_BASE_SCRATCH_H
#define HUTCH_TEST_BASE_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A fresh folder as the test's state. */
static inline int scratch_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char *folder = xasprintf("%s/hutch-unit.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    *state = folder;
    return 0;
}

static inline int scratch_teardown(void **state)
{
    int rc = file_remove_tree(*state, NULL);
    /* a hutchd that the test started may still be writing there */
    for (int i = 0; rc < 0 && i < 100; i++) {
        usleep(50000);
        rc = file_remove_tree(*state, NULL);
    }
    free(*state);
    return rc;
}

#define scratch_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_setup, scratch_teardown)

/* The call succeeds; else the test shows the message. */
#define assert_ok(call)                                                                                      \
    do {                                                                                                     \
        auto(error) struct error *err = NULL;                                                                \
        if ((call) < 0)                                                                                      \
            fail_msg("%s: %s", #call, err ? err->message : "no error object");                               \
        assert_null(err);                                                                                    \
    } while (0)

/* The call fails with this code, and its message has these words. */
#define assert_error(call, want, words)                                                                      \
    do {                                                                                                     \
        auto(error) struct error *err = NULL;                                                                \
        assert_int_equal((call), -(want));                                                                   \
        assert_non_null(err);                                                                                \
        assert_int_equal(err->code, (want));                                                                 \
        if (!strstr(err->message, (words)))                                                                  \
            fail_msg("\"%s\" does not say \"%s\"", err->message, (words));                                   \
    } while (0)

#endif
