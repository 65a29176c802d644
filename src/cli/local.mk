bin_PROGRAMS += hutch
hutch_SOURCES = %D%/main.c
hutch_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
hutch_LDADD = libclient.a libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
