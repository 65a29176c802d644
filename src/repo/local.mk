noinst_LIBRARIES += librepo.a
librepo_a_SOURCES = %D%/repo.h %D%/git.h %D%/git.c %D%/source.c %D%/mirror.c %D%/push.c
librepo_a_CFLAGS = $(AM_CFLAGS) $(CRYPTO_CFLAGS)
pkglibexec_PROGRAMS += hutch-git
hutch_git_SOURCES = %D%/git_main.c
hutch_git_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)
hutch_git_LDADD = libbase.a $(CRYPTO_LIBS) $(SECCOMP_LIBS)

check_PROGRAMS += tests/unit/test_repo
TESTS += tests/unit/test_repo
tests_unit_test_repo_SOURCES = tests/unit/test_repo.c
tests_unit_test_repo_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_repo_LDADD = librepo.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
