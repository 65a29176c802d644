# hutch-guest is one static binary that runs in any Linux guest.
pkglibexec_PROGRAMS += hutch-guest
hutch_guest_SOURCES = %D%/main.c
hutch_guest_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
hutch_guest_LDADD = libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
