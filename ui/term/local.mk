noinst_LIBRARIES += libterm.a
libterm_a_SOURCES = \
	%D%/term.c %D%/term.h %D%/tty.c %D%/tty.h %D%/rescue.c %D%/rescue.h \
	%D%/screen.c %D%/screen.h %D%/input.c %D%/input.h %D%/sequence.c %D%/sequence.h %D%/osc.c %D%/osc.h \
	%D%/pairs.c %D%/pairs.h %D%/palette.c %D%/palette.h %D%/theme.c %D%/theme.h
libterm_a_CFLAGS = $(AM_CFLAGS) $(CURSES_CFLAGS)

# The terminfo entry for direct colour: beside the programs in the build tree, with the data when installed.
terminfodir = $(pkgdatadir)/terminfo/h
nodist_terminfo_DATA = terminfo/h/hutch-direct
EXTRA_DIST += %D%/hutch.ti
CLEANFILES += terminfo/h/hutch-direct
terminfo/h/hutch-direct: %D%/hutch.ti
	$(AM_V_GEN)$(MKDIR_P) terminfo && $(TIC) -x -o terminfo $(srcdir)/ui/term/hutch.ti && touch $@

if HAVE_CMOCKA
TERM_TESTS = tests/unit/test_input tests/unit/test_colors tests/unit/test_term tests/unit/test_term_back
check_PROGRAMS += $(TERM_TESTS)
TESTS += $(TERM_TESTS)
TERM_TEST_LIBS = libterm.a $(GRID_TEST_LIBS) $(CURSES_LIBS)
tests_unit_test_input_SOURCES = tests/unit/test_input.c tests/unit/test_base_scratch.h
tests_unit_test_input_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_input_LDADD = $(TERM_TEST_LIBS)
tests_unit_test_colors_SOURCES = tests/unit/test_colors.c tests/unit/test_base_scratch.h
tests_unit_test_colors_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_colors_LDADD = $(TERM_TEST_LIBS)
TERM_RIG = tests/unit/test_term_rig.h tests/unit/test_base_scratch.h tests/lib/outer.c tests/lib/outer.h
tests_unit_test_term_SOURCES = tests/unit/test_term.c $(TERM_RIG)
tests_unit_test_term_CFLAGS = $(UNIT_CFLAGS) $(VTERM_CFLAGS)
tests_unit_test_term_LDADD = $(TERM_TEST_LIBS) $(VTERM_LIBS)
EXTRA_tests_unit_test_term_DEPENDENCIES = terminfo/h/hutch-direct
tests_unit_test_term_back_SOURCES = tests/unit/test_term_back.c $(TERM_RIG)
tests_unit_test_term_back_CFLAGS = $(UNIT_CFLAGS) $(VTERM_CFLAGS)
tests_unit_test_term_back_LDADD = $(TERM_TEST_LIBS) $(VTERM_LIBS)
EXTRA_tests_unit_test_term_back_DEPENDENCIES = terminfo/h/hutch-direct

TERM_FUZZ = tests/fuzz/fuzz_input
check_PROGRAMS += $(TERM_FUZZ)
if !FUZZING
TESTS += $(TERM_FUZZ)
endif
tests_fuzz_fuzz_input_SOURCES = tests/fuzz/fuzz_input.c $(FUZZ_MAIN)
tests_fuzz_fuzz_input_CFLAGS = $(UNIT_CFLAGS)
tests_fuzz_fuzz_input_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_input_LDADD = libterm.a libgrid.a libbase.a $(CRYPTO_LIBS)
endif
