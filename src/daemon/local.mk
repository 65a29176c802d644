pkglibexec_PROGRAMS += hutchd
hutchd_SOURCES = %D%/main.c
hutchd_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) $(LIBVIRT_CFLAGS)
hutchd_LDADD = librepo.a libimage.a libvm.a libjournal.a libconf.a libwire.a libbase.a $(WIRE_LIBS) \
	$(SQLITE_LIBS) $(LIBVIRT_LIBS) $(INIH_LIBS) $(CRYPTO_LIBS)
