/* test_journal_sql.h: what somebody else does to a journal's database. */
#ifndef HUTCH_TESTS_JOURNAL_SQL_H
#define HUTCH_TESTS_JOURNAL_SQL_H

#include "test_base_scratch.h"

#include "base/alloc.h"

#include <sqlite3.h>
#include <stdarg.h>

/* SQL on the file as somebody else would run it. */
static inline int sql_on(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline int sql_on(const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    autofree char *sql = xvasprintf(format, args);
    va_end(args);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}

#endif
