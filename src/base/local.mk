noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/alloc.c %D%/alloc.h %D%/cleanup.h \
	%D%/error.c %D%/error.h %D%/error.def \
	%D%/log.c %D%/log.h %D%/buf.c %D%/buf.h \
	%D%/fd.c %D%/fd.h %D%/file.c %D%/file_hash.c %D%/file.h \
	%D%/paths.c %D%/paths.h %D%/text.c %D%/text.h %D%/unicode.h \
	%D%/words.c %D%/words.h %D%/units.c %D%/units.h %D%/spawn.c %D%/spawn.h %D%/landlock.c %D%/landlock.h \
	%D%/tar_head.c %D%/tar_head.h

base_tests = tests/unit/test_text tests/unit/test_base_values tests/unit/test_base_files tests/unit/test_base_process
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
base_test_libs = libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_text_SOURCES = tests/unit/test_text.c tests/unit/test_base_scratch.h
tests_unit_test_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_text_LDADD = $(base_test_libs)
tests_unit_test_base_values_SOURCES = tests/unit/test_base_values.c tests/unit/test_base_scratch.h
tests_unit_test_base_values_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_base_values_LDADD = $(base_test_libs)
tests_unit_test_base_files_SOURCES = tests/unit/test_base_files.c tests/unit/test_base_scratch.h
tests_unit_test_base_files_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_base_files_LDADD = $(base_test_libs)
tests_unit_test_base_process_SOURCES = tests/unit/test_base_process.c tests/unit/test_base_scratch.h
tests_unit_test_base_process_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_base_process_LDADD = $(base_test_libs)

# Of the whole tree, not of base alone.
tree_tests = tests/unit/headers.sh tests/unit/layers.sh
dist_check_SCRIPTS += $(tree_tests)
TESTS += $(tree_tests)
