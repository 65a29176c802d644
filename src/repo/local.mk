noinst_LIBRARIES += librepo.a
librepo_a_SOURCES = %D%/repo.h %D%/git.h %D%/git.c %D%/source.c %D%/mirror.c %D%/push.c
librepo_a_CFLAGS = $(AM_CFLAGS) $(CRYPTO_CFLAGS)
pkglibexec_PROGRAMS += hutch-git
hutch_git_SOURCES = %D%/git_main.c
hutch_git_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)
hutch_git_LDADD = libbase.a $(CRYPTO_LIBS) $(SECCOMP_LIBS)
