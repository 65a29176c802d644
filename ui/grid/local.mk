noinst_LIBRARIES += libgrid.a
libgrid_a_SOURCES = \
	%D%/grid.c %D%/grid.h %D%/area.c %D%/dump.c %D%/key.c %D%/key.h

EXTRA_DIST += ui/styles.def

if HAVE_CMOCKA
GRID_TESTS = tests/unit/test_grid tests/unit/test_key
check_PROGRAMS += $(GRID_TESTS)
TESTS += $(GRID_TESTS)
GRID_TEST_LIBS = libgrid.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_grid_SOURCES = tests/unit/test_grid.c tests/unit/test_base_scratch.h
tests_unit_test_grid_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_grid_LDADD = $(GRID_TEST_LIBS)
tests_unit_test_key_SOURCES = tests/unit/test_key.c tests/unit/test_base_scratch.h
tests_unit_test_key_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_key_LDADD = $(GRID_TEST_LIBS)
endif
