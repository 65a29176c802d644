noinst_LIBRARIES += libpane.a
libpane_a_SOURCES = \
	%D%/emulator.c %D%/emulator.h %D%/emulator_internal.h %D%/screen.c %D%/resize.c \
	%D%/parse.c %D%/sequence.c %D%/pen.c %D%/keys.c %D%/find.c %D%/history.c %D%/history.h
libpane_a_CFLAGS = $(AM_CFLAGS) $(VTERM_CFLAGS)

PANE_LIBS = libpane.a libgrid.a libbase.a $(VTERM_LIBS) $(CRYPTO_LIBS)

if HAVE_CMOCKA
PANE_TESTS = tests/unit/test_emulator tests/unit/test_emulator_resize tests/unit/test_emulator_keys
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
endif
