# Each test is a program of its own (cmocka) under tests/unit, or a script. Folder parts add to check_PROGRAMS and TESTS.
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)

# The measurements against their peers: real machines, minutes. WRITE=--write puts the table into doc/bench.md.
bench: all
	python3 $(srcdir)/tests/bench/bench.py $(abs_builddir) $(WRITE)
.PHONY: bench
