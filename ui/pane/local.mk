noinst_LIBRARIES += libpane.a
libpane_a_SOURCES = \
	%D%/emulator.c %D%/emulator.h %D%/emulator_internal.h %D%/screen.c %D%/resize.c \
	%D%/parse.c %D%/sequence.c %D%/pen.c %D%/keys.c %D%/find.c %D%/history.c %D%/history.h
libpane_a_CFLAGS = $(AM_CFLAGS) $(VTERM_CFLAGS)

PANE_LIBS = libpane.a libgrid.a libbase.a $(VTERM_LIBS) $(CRYPTO_LIBS)

if HAVE_CMOCKA
PANE_TESTS = tests/unit/test_emulator tests/unit/test_emulator_resize tests/unit/test_emulator_keys tests/unit/test_emulator_hostile \
	tests/unit/test_emulator_recorded
check_PROGRAMS += $(PANE_TESTS)
TESTS += $(PANE_TESTS)
tests_unit_test_emulator_SOURCES = tests/unit/test_emulator.c tests/unit/emulator_world.h
tests_unit_test_emulator_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_emulator_LDADD = $(PANE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_emulator_resize_SOURCES = tests/unit/test_emulator_resize.c tests/unit/emulator_world.h
tests_unit_test_emulator_resize_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_emulator_resize_LDADD = $(PANE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_emulator_keys_SOURCES = tests/unit/test_emulator_keys.c tests/unit/emulator_world.h
tests_unit_test_emulator_keys_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_emulator_keys_LDADD = $(PANE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_emulator_hostile_SOURCES = tests/unit/test_emulator_hostile.c tests/unit/emulator_world.h \
	tests/lib/emulator_check.h
tests_unit_test_emulator_hostile_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_emulator_hostile_LDADD = $(PANE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_emulator_recorded_SOURCES = tests/unit/test_emulator_recorded.c tests/unit/emulator_world.h \
	tests/lib/emulator_check.h
tests_unit_test_emulator_recorded_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_emulator_recorded_LDADD = $(PANE_LIBS) $(CMOCKA_LIBS)
endif

# The fuzz target, as those of wire.
check_PROGRAMS += tests/fuzz/fuzz_emulator
if !FUZZING
TESTS += tests/fuzz/fuzz_emulator
endif
tests_fuzz_fuzz_emulator_SOURCES = tests/fuzz/fuzz_emulator.c tests/lib/emulator_check.h $(FUZZ_MAIN)
tests_fuzz_fuzz_emulator_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_emulator_LDADD = $(PANE_LIBS)

# The terminal's own part of the model and the view. Link: libview.a libmodel.a libterminal.a libmodel.a $(PANE_LIBS)
noinst_LIBRARIES += libterminal.a
libterminal_a_SOURCES = ui/model/terminal.c ui/model/terminal.h ui/model/terminal_state.h \
	ui/model/terminal_link.c ui/model/terminal_keys.c ui/view/terminal.c ui/view/terminal.h
libterminal_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

if HAVE_CMOCKA
TERMINAL_TESTS = tests/screen/test_terminal
check_PROGRAMS += $(TERMINAL_TESTS)
TESTS += $(TERMINAL_TESTS)
tests_screen_test_terminal_SOURCES = tests/screen/test_terminal.c tests/screen/terminal_pane.h
tests_screen_test_terminal_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_screen_test_terminal_LDADD = libterminal.a libmodel.a $(PANE_LIBS) $(JANSSON_LIBS) $(CMOCKA_LIBS)
endif
