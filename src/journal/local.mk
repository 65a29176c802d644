noinst_LIBRARIES += libjournal.a
libjournal_a_SOURCES = \
	%D%/journal.c %D%/journal.h %D%/select.c %D%/verify.c \
	%D%/chain.c %D%/anchors.c %D%/store.h
libjournal_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
