# What reads the inside of layers, and its client for hutchd (child.c), which needs base alone.
noinst_LIBRARIES += libdiff.a
libdiff_a_SOURCES = \
	%D%/budget.h %D%/budget.c %D%/image.h %D%/image.c %D%/disk.h %D%/disk.c %D%/replay.h %D%/replay.c \
	%D%/volume.h %D%/volume_internal.h %D%/volume.c %D%/volume_io.c %D%/node.c %D%/map.c %D%/lookup.c %D%/tree.h %D%/tree.c \
	%D%/changes.h %D%/changes_internal.h %D%/changes.c %D%/pairs.c %D%/names.c \
	%D%/facts.h %D%/facts.c %D%/packages.c %D%/texts.h %D%/texts.c %D%/sink.h %D%/sink.c \
	%D%/archive.h %D%/archive.c %D%/report.h %D%/report.c %D%/ask.h %D%/child.h %D%/child.c
libdiff_a_CFLAGS = $(AM_CFLAGS) $(EXT2FS_CFLAGS) $(GIT2_CFLAGS) $(JANSSON_CFLAGS)
DIFF_LIBS = libdiff.a libbase.a $(EXT2FS_LIBS) $(GIT2_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS)

pkglibexec_PROGRAMS += hutch-diff
hutch_diff_SOURCES = %D%/diff_main.c %D%/confine.h %D%/confine.c
hutch_diff_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS) $(JANSSON_CFLAGS)
hutch_diff_LDADD = $(DIFF_LIBS) $(SECCOMP_LIBS)

DIFF_TESTS = tests/unit/test_diff tests/unit/test_diff_hostile tests/unit/test_diff_replay
check_PROGRAMS += $(DIFF_TESTS)
TESTS += $(DIFF_TESTS)
tests_unit_test_diff_SOURCES = tests/unit/test_diff.c tests/unit/diff_world.h tests/unit/test_base_scratch.h
tests_unit_test_diff_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS) -DTEST_PROGRAMS='"$(abs_builddir)"'
tests_unit_test_diff_LDADD = $(DIFF_LIBS) $(CMOCKA_LIBS)
tests_unit_test_diff_hostile_SOURCES = tests/unit/test_diff_hostile.c tests/unit/diff_world.h tests/unit/test_base_scratch.h
tests_unit_test_diff_hostile_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS) -DTEST_PROGRAMS='"$(abs_builddir)"'
tests_unit_test_diff_hostile_LDADD = $(DIFF_LIBS) $(CMOCKA_LIBS)
tests_unit_test_diff_replay_SOURCES = tests/unit/test_diff_replay.c tests/unit/test_base_scratch.h
tests_unit_test_diff_replay_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_diff_replay_LDADD = $(DIFF_LIBS) $(CMOCKA_LIBS)
