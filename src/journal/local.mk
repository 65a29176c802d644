noinst_LIBRARIES += libjournal.a
libjournal_a_SOURCES = \
	%D%/journal.c %D%/journal.h %D%/select.c %D%/verify.c \
	%D%/chain.c %D%/anchors.c %D%/store.h
libjournal_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)

check_PROGRAMS += tests/unit/test_journal
TESTS += tests/unit/test_journal
tests_unit_test_journal_SOURCES = tests/unit/test_journal.c tests/unit/test_base_scratch.h
tests_unit_test_journal_CFLAGS = $(UNIT_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
tests_unit_test_journal_LDADD = libjournal.a libbase.a $(SQLITE_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
