# Each test is a program of its own (cmocka) under tests/unit, or a script. Folder parts add to check_PROGRAMS and TESTS.
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
