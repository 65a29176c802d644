noinst_LIBRARIES += libclient.a
libclient_a_SOURCES = %D%/client.c %D%/client.h %D%/start.c %D%/watch.c %D%/watch.h %D%/flow.c %D%/flow.h \
	%D%/async.c %D%/async.h
libclient_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_async
TESTS += tests/unit/test_async
tests_unit_test_async_SOURCES = tests/unit/test_async.c
tests_unit_test_async_CFLAGS = $(UNIT_CFLAGS) $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_async_LDADD = libclient.a libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
endif
