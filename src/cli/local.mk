noinst_LIBRARIES += libcli.a
libcli_a_SOURCES = \
	%D%/verb.h %D%/verbs.def %D%/verbs.c %D%/args.c %D%/args.h %D%/help.h \
	%D%/out.c %D%/out.h %D%/progress.c %D%/progress.h %D%/project.c %D%/project.h \
	%D%/filter.c %D%/filter.h %D%/terminal.c %D%/terminal.h %D%/when.c %D%/when.h \
	%D%/tar.c %D%/tar.h %D%/tree.c %D%/tree.h %D%/untar.c %D%/untar.h \
	%D%/session.c %D%/session.h %D%/list.c %D%/list.h \
	%D%/up.c %D%/power.c %D%/exec.c %D%/cp.c %D%/cp_in.c %D%/cp_out.c %D%/cp.h %D%/log.c \
	%D%/template.c %D%/doctor.c %D%/about.c
libcli_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)

bin_PROGRAMS += hutch
hutch_SOURCES = %D%/main.c
hutch_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
hutch_LDADD = libcli.a libclient.a libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
