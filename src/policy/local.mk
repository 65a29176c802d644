noinst_LIBRARIES += libpolicy.a
libpolicy_a_SOURCES = %D%/host.c %D%/host.h %D%/host_internal.h %D%/host_idn.c %D%/host_display.c \
	%D%/address.c %D%/address.h %D%/address.def %D%/suffix.c %D%/suffix.h %D%/suffix.def \
	%D%/rule.c %D%/rule.h %D%/rule_internal.h %D%/rule_parse.c %D%/rule_match.c %D%/request.h %D%/request.c \
	%D%/reason.h %D%/reasons.def %D%/reason.c %D%/grant.h %D%/policy.h %D%/budget.h %D%/suggest.h
libpolicy_a_CFLAGS = $(AM_CFLAGS) $(PSL_CFLAGS) $(IDN2_CFLAGS)
POLICY_LIBS = libpolicy.a libbase.a $(PSL_LIBS) $(IDN2_LIBS)

if HAVE_CMOCKA
POLICY_TESTS = tests/unit/test_policy_host tests/unit/test_policy_rule
check_PROGRAMS += $(POLICY_TESTS)
TESTS += $(POLICY_TESTS)
POLICY_TEST_LIBS = $(POLICY_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_policy_host_SOURCES = tests/unit/test_policy_host.c
tests_unit_test_policy_host_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_host_LDADD = $(POLICY_TEST_LIBS)
tests_unit_test_policy_rule_SOURCES = tests/unit/test_policy_rule.c
tests_unit_test_policy_rule_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_rule_LDADD = $(POLICY_TEST_LIBS)
endif
