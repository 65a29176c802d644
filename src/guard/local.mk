# Parsers whose job is to say no: of base alone, so that the confined process can have them.
noinst_LIBRARIES += libguard.a
libguard_a_SOURCES = \
	%D%/bytes.h %D%/reason.c %D%/reason.h %D%/reason.def \
	%D%/client_hello.c %D%/client_hello.h \
	%D%/path.c %D%/path.h %D%/authority.c %D%/authority.h \
	%D%/http_head.c %D%/http_head.h %D%/http_body.c %D%/http_body.h %D%/http_guard.c %D%/http_guard.h \
	%D%/dns.c %D%/dns.h %D%/names.c %D%/names.h \
	%D%/socks.c %D%/socks.h %D%/http_proxy.c %D%/http_proxy.h
libguard_a_CFLAGS = $(AM_CFLAGS)

GUARD_TESTS = tests/unit/test_client_hello tests/unit/test_http_guard tests/unit/test_http_guard_back \
	tests/unit/test_dns tests/unit/test_proxy
check_PROGRAMS += $(GUARD_TESTS)
TESTS += $(GUARD_TESTS)
GUARD_PLAIN_LIBS = libguard.a libbase.a $(CRYPTO_LIBS)
GUARD_TEST_LIBS = $(GUARD_PLAIN_LIBS) $(CMOCKA_LIBS)
tests_unit_test_client_hello_SOURCES = tests/unit/test_client_hello.c
tests_unit_test_client_hello_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_client_hello_LDADD = $(GUARD_TEST_LIBS)
guard_http_world = tests/unit/http_guard_world.h
tests_unit_test_http_guard_SOURCES = tests/unit/test_http_guard.c $(guard_http_world)
tests_unit_test_http_guard_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_http_guard_LDADD = $(GUARD_TEST_LIBS)
tests_unit_test_http_guard_back_SOURCES = tests/unit/test_http_guard_back.c $(guard_http_world)
tests_unit_test_http_guard_back_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_http_guard_back_LDADD = $(GUARD_TEST_LIBS)
tests_unit_test_dns_SOURCES = tests/unit/test_dns.c
tests_unit_test_dns_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_dns_LDADD = $(GUARD_TEST_LIBS)
tests_unit_test_proxy_SOURCES = tests/unit/test_proxy.c
tests_unit_test_proxy_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_proxy_LDADD = $(GUARD_TEST_LIBS)

# Fuzz targets; without --enable-fuzzing they replay their corpora as tests (src/wire/local.mk).
GUARD_FUZZ = tests/fuzz/fuzz_client_hello tests/fuzz/fuzz_http_guard tests/fuzz/fuzz_dns tests/fuzz/fuzz_proxy
check_PROGRAMS += $(GUARD_FUZZ)
if !FUZZING
TESTS += $(GUARD_FUZZ)
endif
tests_fuzz_fuzz_client_hello_SOURCES = tests/fuzz/fuzz_client_hello.c $(FUZZ_MAIN)
tests_fuzz_fuzz_client_hello_CFLAGS = $(UNIT_CFLAGS)
tests_fuzz_fuzz_client_hello_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_client_hello_LDADD = $(GUARD_PLAIN_LIBS)
tests_fuzz_fuzz_http_guard_SOURCES = tests/fuzz/fuzz_http_guard.c $(FUZZ_MAIN)
tests_fuzz_fuzz_http_guard_CFLAGS = $(UNIT_CFLAGS)
tests_fuzz_fuzz_http_guard_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_http_guard_LDADD = $(GUARD_PLAIN_LIBS)
tests_fuzz_fuzz_dns_SOURCES = tests/fuzz/fuzz_dns.c $(FUZZ_MAIN)
tests_fuzz_fuzz_dns_CFLAGS = $(UNIT_CFLAGS)
tests_fuzz_fuzz_dns_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_dns_LDADD = $(GUARD_PLAIN_LIBS)
tests_fuzz_fuzz_proxy_SOURCES = tests/fuzz/fuzz_proxy.c $(FUZZ_MAIN)
tests_fuzz_fuzz_proxy_CFLAGS = $(UNIT_CFLAGS)
tests_fuzz_fuzz_proxy_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_proxy_LDADD = $(GUARD_PLAIN_LIBS)
