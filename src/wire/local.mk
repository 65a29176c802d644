noinst_LIBRARIES += libwire.a
libwire_a_SOURCES = \
	%D%/hello.c %D%/hello.h \
	%D%/h2.c %D%/h2.h %D%/h2_internal.h %D%/h2_callbacks.c %D%/h2_limits.c %D%/h2_stream.c \
	%D%/link.c %D%/link.h %D%/pump.c %D%/pump.h \
	%D%/json.c %D%/json.h %D%/json_stream.c %D%/json_call.c
libwire_a_CFLAGS = $(AM_CFLAGS) $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
WIRE_LIBS = $(NGHTTP2_LIBS) $(UV_LIBS) $(JANSSON_LIBS)

# Tests: in memory, or over socket pairs in one process.
WIRE_TEST_LIB = tests/lib/frames.c tests/lib/frames.h tests/lib/h2_pair.c tests/lib/h2_pair.h
WIRE_VICTIM = $(WIRE_TEST_LIB) tests/lib/h2_victim.c tests/lib/h2_victim.h
WIRE_TEST_CFLAGS = $(UNIT_CFLAGS) -I$(top_srcdir)/tests/lib $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
WIRE_PLAIN_LIBS = libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
WIRE_TEST_LIBS = $(WIRE_PLAIN_LIBS) $(CMOCKA_LIBS)
WIRE_TESTS = \
	tests/unit/test_hello \
	tests/unit/test_h2 \
	tests/unit/test_h2_limits \
	tests/unit/test_h2_messages \
	tests/unit/test_h2_memory \
	tests/unit/test_link \
	tests/unit/test_link_resync \
	tests/unit/test_pump \
	tests/unit/test_json \
	tests/unit/test_json_calls
check_PROGRAMS += $(WIRE_TESTS)
TESTS += $(WIRE_TESTS)

tests_unit_test_hello_SOURCES = tests/unit/test_hello.c
tests_unit_test_hello_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_hello_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_h2_SOURCES = tests/unit/test_h2.c $(WIRE_TEST_LIB)
tests_unit_test_h2_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_h2_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_h2_limits_SOURCES = tests/unit/test_h2_limits.c $(WIRE_VICTIM)
tests_unit_test_h2_limits_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_h2_limits_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_h2_messages_SOURCES = tests/unit/test_h2_messages.c $(WIRE_VICTIM)
tests_unit_test_h2_messages_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_h2_messages_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_h2_memory_SOURCES = tests/unit/test_h2_memory.c $(WIRE_TEST_LIB)
tests_unit_test_h2_memory_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_h2_memory_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_link_SOURCES = tests/unit/test_link.c $(WIRE_TEST_LIB)
tests_unit_test_link_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_link_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_link_resync_SOURCES = tests/unit/test_link_resync.c
tests_unit_test_link_resync_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_link_resync_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_pump_SOURCES = tests/unit/test_pump.c tests/unit/pump_world.h
tests_unit_test_pump_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_pump_LDADD = $(WIRE_TEST_LIBS) -lutil

tests_unit_test_json_SOURCES = tests/unit/test_json.c
tests_unit_test_json_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_json_LDADD = $(WIRE_TEST_LIBS)

tests_unit_test_json_calls_SOURCES = tests/unit/test_json_calls.c $(WIRE_TEST_LIB)
tests_unit_test_json_calls_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_unit_test_json_calls_LDADD = $(WIRE_TEST_LIBS)

# Fuzz targets. Without --enable-fuzzing each replays its corpus as a test; with it (CC=clang) each is a libFuzzer program.
WIRE_FUZZ = tests/fuzz/fuzz_hello tests/fuzz/fuzz_h2 tests/fuzz/fuzz_json
check_PROGRAMS += $(WIRE_FUZZ) tests/fuzz/make_seeds
if FUZZING
FUZZ_MAIN =
FUZZER_FLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
else
TESTS += $(WIRE_FUZZ)
FUZZ_MAIN = tests/fuzz/replay.c
FUZZER_FLAGS = $(AM_LDFLAGS)
endif

tests_fuzz_fuzz_hello_SOURCES = tests/fuzz/fuzz_hello.c $(FUZZ_MAIN)
tests_fuzz_fuzz_hello_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_fuzz_fuzz_hello_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_hello_LDADD = $(WIRE_PLAIN_LIBS)

tests_fuzz_fuzz_h2_SOURCES = tests/fuzz/fuzz_h2.c $(FUZZ_MAIN)
tests_fuzz_fuzz_h2_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_fuzz_fuzz_h2_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_h2_LDADD = $(WIRE_PLAIN_LIBS)

tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c $(FUZZ_MAIN)
tests_fuzz_fuzz_json_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_fuzz_fuzz_json_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_json_LDADD = $(WIRE_PLAIN_LIBS)

tests_fuzz_make_seeds_SOURCES = tests/fuzz/make_seeds.c tests/lib/frames.c tests/lib/frames.h
tests_fuzz_make_seeds_CFLAGS = $(WIRE_TEST_CFLAGS)
tests_fuzz_make_seeds_LDADD = $(WIRE_PLAIN_LIBS)
