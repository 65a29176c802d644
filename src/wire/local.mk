noinst_LIBRARIES += libwire.a
libwire_a_SOURCES = \
	%D%/hello.c %D%/hello.h \
	%D%/h2.c %D%/h2.h %D%/h2_internal.h %D%/h2_callbacks.c %D%/h2_limits.c %D%/h2_stream.c \
	%D%/link.c %D%/link.h %D%/pump.c %D%/pump.h \
	%D%/json.c %D%/json.h %D%/json_stream.c %D%/json_call.c
libwire_a_CFLAGS = $(AM_CFLAGS) $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
WIRE_LIBS = $(NGHTTP2_LIBS) $(UV_LIBS) $(JANSSON_LIBS)
