noinst_LIBRARIES += libpolicy.a
libpolicy_a_SOURCES = %D%/host.c %D%/host.h %D%/host_internal.h %D%/host_idn.c %D%/host_display.c \
	%D%/address.c %D%/address.h %D%/address.def %D%/suffix.c %D%/suffix.h %D%/suffix.def \
	%D%/rule.c %D%/rule.h %D%/rule_internal.h %D%/rule_parse.c %D%/rule_match.c %D%/request.h %D%/request.c \
	%D%/reason.h %D%/reasons.def %D%/reason.c %D%/grant.c %D%/grant.h %D%/grant_digest.c \
	%D%/policy.c %D%/policy.h %D%/policy_internal.h %D%/index.c %D%/decide.c \
	%D%/budget.c %D%/budget.h %D%/suggest.c %D%/suggest.h
libpolicy_a_CFLAGS = $(AM_CFLAGS) $(PSL_CFLAGS) $(IDN2_CFLAGS) $(CRYPTO_CFLAGS)
POLICY_LIBS = libpolicy.a libbase.a $(PSL_LIBS) $(IDN2_LIBS)

if HAVE_CMOCKA
POLICY_TESTS = tests/unit/test_policy_host tests/unit/test_policy_rule tests/unit/test_policy_decide \
	tests/unit/test_policy_grant
check_PROGRAMS += $(POLICY_TESTS)
TESTS += $(POLICY_TESTS)
POLICY_TEST_LIBS = $(POLICY_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_policy_host_SOURCES = tests/unit/test_policy_host.c
tests_unit_test_policy_host_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_host_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_rule_SOURCES = tests/unit/test_policy_rule.c
tests_unit_test_policy_rule_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_rule_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_decide_SOURCES = tests/unit/test_policy_decide.c tests/unit/policy_world.h
tests_unit_test_policy_decide_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_decide_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_grant_SOURCES = tests/unit/test_policy_grant.c tests/unit/policy_world.h
tests_unit_test_policy_grant_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_grant_LDADD = $(POLICY_TEST_LIBS)
endif

# As the fuzz targets of wire: replays its corpus as a test, or is a libFuzzer program.
check_PROGRAMS += tests/fuzz/fuzz_policy
if !FUZZING
TESTS += tests/fuzz/fuzz_policy
endif
tests_fuzz_fuzz_policy_SOURCES = tests/fuzz/fuzz_policy.c $(FUZZ_MAIN)
tests_fuzz_fuzz_policy_CFLAGS = $(AM_CFLAGS)
tests_fuzz_fuzz_policy_LDFLAGS = $(FUZZER_FLAGS)
tests_fuzz_fuzz_policy_LDADD = $(POLICY_LIBS)
