noinst_LIBRARIES += librepo.a
librepo_a_SOURCES = %D%/repo.h %D%/source.c %D%/mirror.c %D%/push.c
pkglibexec_PROGRAMS += hutch-git
hutch_git_SOURCES = %D%/git_main.c
hutch_git_LDADD = libbase.a $(CRYPTO_LIBS)
