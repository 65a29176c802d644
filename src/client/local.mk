noinst_LIBRARIES += libclient.a
libclient_a_SOURCES = %D%/client.c %D%/client.h %D%/start.c %D%/watch.c %D%/watch.h %D%/flow.c %D%/flow.h \
	%D%/async.c %D%/async.h
libclient_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
