/* test_journal_tools.h: a filled journal, SQL on its file by somebody else, and what verify says of it. */
#ifndef HUTCH_TEST_JOURNAL_TOOLS_H
#define HUTCH_TEST_JOURNAL_TOOLS_H

#include "test_journal_sql.h"

#include "journal/journal.h"
#include "journal/store.h"

#include <stdbool.h>

static inline char *database(void **state)
{
    return file_join(*state, "journal.db");
}

static inline struct journal *open_at(const char *path)
{
    struct journal *journal = NULL;
    assert_ok(journal_open(path, false, &journal, &err));
    return journal;
}

/* Row n of a filled journal. */
static inline void append_nth(struct journal *journal, int n)
{
    char subject[64], data[64];
    snprintf(subject, sizeof(subject), "npm install %d", n);
    snprintf(data, sizeof(data), "{\"argv\":[\"npm\",\"install\"],\"n\":%d}", n);
    struct event event = {.ts = 1000 + n,
                          .project = n % 2 ? "shop" : "blog",
                          .boot = "b1",
                          .session = n % 3 ? "s1" : NULL,
                          .kind = n % 4 ? "exec" : "egress.open",
                          .actor = "guest",
                          .subject = subject,
                          .verdict = "allow",
                          .rule = "r7",
                          .bytes_up = n,
                          .bytes_down = 2 * n,
                          .ms = 3,
                          .exit = 0,
                          .data = data};
    assert_ok(journal_append(journal, &event, false, NULL, &err));
}

static inline void fill(const char *path, int from, int to)
{
    struct journal *journal = open_at(path);
    for (int n = from; n <= to; n++)
        append_nth(journal, n);
    journal_close(journal);
}

#define NO_TRIGGERS                                                                                          \
    "DROP TRIGGER event_no_update; DROP TRIGGER event_no_delete; DROP TRIGGER event_in_order;"               \
    "DROP TRIGGER meta_no_update; DROP TRIGGER meta_no_delete;"

struct found {
    int count[DAMAGE_REPLACED + 1];
    int64_t seq[DAMAGE_REPLACED + 1]; /* of the first of its kind */
    int total;
    char *words; /* of the first */
};

static inline void note(enum journal_damage damage, int64_t seq, const char *words, void *user)
{
    struct found *found = user;
    if (!found->count[damage]++)
        found->seq[damage] = seq;
    if (!found->total++)
        found->words = xstrdup(words);
}

static inline struct found verify(const char *path)
{
    struct found found = {0};
    struct journal *journal = NULL;
    int64_t rows, bad;
    assert_ok(journal_open(path, true, &journal, &err));
    assert_ok(journal_verify(journal, note, &found, &rows, &bad, &err));
    assert_int_equal(bad, found.total);
    journal_close(journal);
    return found;
}

static inline void assert_whole(const char *path)
{
    struct found found = verify(path);
    if (found.total)
        fail_msg("%d damages, the first: %s", found.total, found.words);
}

#endif
