# Each test is a program of its own (cmocka) under tests/unit, or a script. Folder parts add to check_PROGRAMS and TESTS.
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)

# The measurements against their peers: real machines, minutes. WRITE=--write puts the tables into doc/bench.md.
BENCH_NEEDS = tests/lib/flood_hutchd tests/lib/screen_drive tests/bench/screen_hour tests/bench/net_client tests/bench/decide
bench: all $(BENCH_NEEDS)
	python3 $(srcdir)/tests/bench/bench.py $(abs_builddir) $(WRITE)
# The screen's part alone, which needs no machines.
bench-screen: all $(BENCH_NEEDS)
	python3 $(srcdir)/tests/bench/screen.py $(abs_builddir) $(WRITE)
# The way out alone, with one machine and its peer.
bench-egress: all $(BENCH_NEEDS)
	python3 $(srcdir)/tests/bench/egress.py $(abs_builddir) $(WRITE)
bench-git: all $(BENCH_NEEDS)
	python3 $(srcdir)/tests/bench/git.py $(abs_builddir) $(WRITE)
.PHONY: bench bench-screen bench-egress bench-git

# A hutchd with much to say, and a terminal that drives a program and measures it: for tests/unit/test_flood.sh, test_lying_hutchd.sh and the screen's
# part of the measurements.
check_PROGRAMS += tests/lib/flood_hutchd tests/lib/screen_drive tests/bench/screen_hour
TESTS += tests/unit/test_flood.sh tests/unit/test_lying_hutchd.sh
tests_lib_flood_hutchd_SOURCES = tests/lib/flood_hutchd.c
tests_lib_flood_hutchd_CFLAGS = $(UNIT_CFLAGS) $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
tests_lib_flood_hutchd_LDADD = libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
tests_lib_screen_drive_SOURCES = tests/lib/screen_drive.c tests/lib/outer.c tests/lib/outer.h
tests_lib_screen_drive_CFLAGS = $(UNIT_CFLAGS) $(VTERM_CFLAGS)
tests_lib_screen_drive_LDADD = libgrid.a libbase.a $(VTERM_LIBS) $(CRYPTO_LIBS)
check_PROGRAMS += tests/bench/net_client tests/bench/decide
tests_bench_net_client_SOURCES = tests/bench/net_client.c
tests_bench_net_client_LDFLAGS = -static
tests_bench_decide_SOURCES = tests/bench/decide.c
tests_bench_decide_LDADD = $(POLICY_LIBS) $(CRYPTO_LIBS)
tests_bench_screen_hour_SOURCES = tests/bench/screen_hour.c
tests_bench_screen_hour_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
tests_bench_screen_hour_LDADD = $(SCREEN_LIBS) libconf.a libbase.a $(SCREEN_SYSTEM_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS)
