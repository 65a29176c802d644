noinst_LIBRARIES += librepo.a
librepo_a_SOURCES = %D%/repo.h %D%/git.h %D%/git.c %D%/source.c %D%/mirror.c %D%/push.c %D%/limits.h \
	%D%/quarantine.h %D%/quarantine.c %D%/fetch_out.c %D%/offers.h %D%/offers.c %D%/land.h %D%/land.c %D%/known.h %D%/known.c %D%/send.h %D%/send.c
librepo_a_CFLAGS = $(AM_CFLAGS) $(CRYPTO_CFLAGS)
pkglibexec_PROGRAMS += hutch-git
hutch_git_SOURCES = %D%/git_main.c %D%/limits.h
hutch_git_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)
hutch_git_LDADD = libbase.a $(CRYPTO_LIBS) $(SECCOMP_LIBS)

check_PROGRAMS += tests/unit/test_repo
TESTS += tests/unit/test_repo
tests_unit_test_repo_SOURCES = tests/unit/test_repo.c
tests_unit_test_repo_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_repo_LDADD = librepo.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
QUARANTINE_TESTS = tests/unit/test_quarantine tests/unit/test_quarantine_hostile
check_PROGRAMS += $(QUARANTINE_TESTS)
TESTS += $(QUARANTINE_TESTS)
tests_unit_test_quarantine_SOURCES = tests/unit/test_quarantine.c tests/unit/quarantine_rig.c tests/unit/quarantine_rig.h
tests_unit_test_quarantine_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_quarantine_LDADD = librepo.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_quarantine_hostile_SOURCES = tests/unit/test_quarantine_hostile.c tests/unit/quarantine_rig.c tests/unit/quarantine_rig.h
tests_unit_test_quarantine_hostile_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_quarantine_hostile_LDADD = librepo.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)

# Git out of a machine that means no good, on the fake host.
dist_check_SCRIPTS += tests/e2e/fake_git_hostile.sh
TESTS += tests/e2e/fake_git_hostile.sh
