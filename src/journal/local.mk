noinst_LIBRARIES += libjournal.a
libjournal_a_SOURCES = \
	%D%/journal.c %D%/journal.h %D%/select.c %D%/verify.c \
	%D%/chain.c %D%/anchors.c %D%/store.h
libjournal_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)

journal_tests = tests/unit/test_journal tests/unit/test_journal_damage
journal_test_flags = $(UNIT_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
journal_test_libs = libjournal.a libbase.a $(SQLITE_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
journal_test_headers = tests/unit/test_journal_tools.h tests/unit/test_journal_sql.h tests/unit/test_base_scratch.h
check_PROGRAMS += $(journal_tests)
TESTS += $(journal_tests)
tests_unit_test_journal_SOURCES = tests/unit/test_journal.c $(journal_test_headers)
tests_unit_test_journal_CFLAGS = $(journal_test_flags)
tests_unit_test_journal_LDADD = $(journal_test_libs)
tests_unit_test_journal_damage_SOURCES = tests/unit/test_journal_damage.c $(journal_test_headers)
tests_unit_test_journal_damage_CFLAGS = $(journal_test_flags)
tests_unit_test_journal_damage_LDADD = $(journal_test_libs)
