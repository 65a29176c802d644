noinst_LIBRARIES += libconf.a
libconf_a_SOURCES = %D%/ini.c %D%/ini.h %D%/names.c %D%/names.h %D%/template.c %D%/template.h
libconf_a_CFLAGS = $(AM_CFLAGS) $(INIH_CFLAGS) $(CRYPTO_CFLAGS)
