# The sources of ui/view.
noinst_LIBRARIES += libview.a
libview_a_SOURCES = %D%/draw.c %D%/draw.h %D%/paint.c %D%/paint.h %D%/list_draw.c %D%/terminal.h
libview_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
