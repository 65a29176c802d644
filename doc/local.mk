# The page of the screen is made from the tables of ui/, so that it cannot differ from them.
noinst_PROGRAMS += doc/screen_page
doc_screen_page_SOURCES = doc/screen_page.c
nodist_man_MANS = doc/hutch-screen.1
CLEANFILES += doc/hutch-screen.1
doc/hutch-screen.1: doc/screen_page$(EXEEXT) doc/hutch-screen.1.in
	$(AM_V_GEN)doc/screen_page $(srcdir)/doc/hutch-screen.1.in >$@.new && mv $@.new $@
