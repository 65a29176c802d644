noinst_LIBRARIES += libterm.a
libterm_a_SOURCES = \
	%D%/input.c %D%/input.h %D%/sequence.c %D%/sequence.h %D%/term.h
libterm_a_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)

if HAVE_CMOCKA
TERM_TESTS = tests/unit/test_input
check_PROGRAMS += $(TERM_TESTS)
TESTS += $(TERM_TESTS)
tests_unit_test_input_SOURCES = tests/unit/test_input.c tests/unit/test_base_scratch.h
tests_unit_test_input_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_input_LDADD = libterm.a $(GRID_TEST_LIBS)
endif
