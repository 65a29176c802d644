noinst_LIBRARIES += libworker.a
libworker_a_SOURCES = %D%/proto.h %D%/decode.c %D%/decode.h %D%/port.c %D%/port.h %D%/call.c %D%/call.h
libworker_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
pkglibexec_PROGRAMS += hutch-worker
hutch_worker_SOURCES = %D%/main.c %D%/confine.c %D%/confine.h
hutch_worker_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS) $(SECCOMP_CFLAGS)
hutch_worker_LDADD = libworker.a libwire.a libbase.a $(WIRE_LIBS) $(SECCOMP_LIBS) $(CRYPTO_LIBS)
