# Each test is a program of its own (cmocka) under tests/unit, or a script. Folder parts add to check_PROGRAMS and TESTS.
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)

# The measurements against their peers: real machines, minutes. WRITE=--write puts the table into doc/bench.md.
bench: all
	python3 $(srcdir)/tests/bench/bench.py $(abs_builddir) $(WRITE)
.PHONY: bench

# A hutchd with much to say, and a terminal that drives a program and measures it: for tests/unit/test_flood.sh and the screen's
# part of the measurements.
if HAVE_CMOCKA
check_PROGRAMS += tests/lib/flood_hutchd tests/lib/screen_drive
TESTS += tests/unit/test_flood.sh
tests_lib_flood_hutchd_SOURCES = tests/lib/flood_hutchd.c
tests_lib_flood_hutchd_CFLAGS = $(UNIT_CFLAGS) $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
tests_lib_flood_hutchd_LDADD = libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
tests_lib_screen_drive_SOURCES = tests/lib/screen_drive.c tests/lib/outer.c tests/lib/outer.h
tests_lib_screen_drive_CFLAGS = $(UNIT_CFLAGS) $(VTERM_CFLAGS)
tests_lib_screen_drive_LDADD = libgrid.a libbase.a $(VTERM_LIBS) $(CRYPTO_LIBS)
endif
