noinst_LIBRARIES += libreview.a
libreview_a_SOURCES = \
	%D%/persistence.h %D%/persistence.c %D%/persistence.def %D%/summary.c \
	%D%/objects.h %D%/objects.c %D%/changes.h %D%/changes.c %D%/renames.c %D%/range.h %D%/range.c \
	%D%/review.h %D%/branches.c %D%/diff.h %D%/diff.c %D%/show.c %D%/links.c %D%/pick.c %D%/shown.h %D%/shown.c
libreview_a_CFLAGS = $(AM_CFLAGS) $(GIT2_CFLAGS) $(JANSSON_CFLAGS)
REVIEW_LIBS = libreview.a libbase.a $(GIT2_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS)

REVIEW_TESTS = tests/unit/test_review_summary tests/unit/test_review tests/unit/test_review_hostile tests/unit/test_land
check_PROGRAMS += $(REVIEW_TESTS)
TESTS += $(REVIEW_TESTS)
tests_unit_test_review_summary_SOURCES = tests/unit/test_review_summary.c tests/unit/review_world.h tests/unit/test_base_scratch.h
tests_unit_test_review_summary_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_review_summary_LDADD = $(REVIEW_LIBS) $(CMOCKA_LIBS)
tests_unit_test_review_SOURCES = tests/unit/test_review.c tests/unit/review_world.h tests/unit/test_base_scratch.h
tests_unit_test_review_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_review_LDADD = $(REVIEW_LIBS) $(CMOCKA_LIBS)
tests_unit_test_review_hostile_SOURCES = tests/unit/test_review_hostile.c tests/unit/review_world.h tests/unit/test_base_scratch.h
tests_unit_test_review_hostile_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_review_hostile_LDADD = $(REVIEW_LIBS) $(CMOCKA_LIBS)
tests_unit_test_land_SOURCES = tests/unit/test_land.c tests/unit/review_world.h tests/unit/test_base_scratch.h
tests_unit_test_land_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_land_LDADD = librepo.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
