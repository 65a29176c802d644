noinst_LIBRARIES += libegress.a
libegress_a_SOURCES = \
	%D%/burst.c %D%/burst.h %D%/dial.c %D%/dial.h %D%/flow.c %D%/flow.h %D%/flow_begin.c %D%/flow_credit.c \
	%D%/flow_internal.h %D%/flow_judge.c %D%/labels.c %D%/labels.h %D%/proxy.c %D%/proxy.h %D%/refusal.c \
	%D%/resolver.c %D%/resolver.h %D%/resolver_proto.h
libegress_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
pkglibexec_PROGRAMS += hutch-resolver
hutch_resolver_SOURCES = %D%/resolver_main.c %D%/resolver_proto.h
hutch_resolver_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CRYPTO_LIBS)

EGRESS_TESTS = tests/unit/test_egress_dial tests/unit/test_egress_flow tests/unit/test_egress_requests \
	tests/unit/test_egress_limits
check_PROGRAMS += $(EGRESS_TESTS)
TESTS += $(EGRESS_TESTS)
egress_test_cflags = $(UNIT_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
egress_test_libs = libegress.a libpolicy.a libbase.a $(POLICY_LIBS) $(UV_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_egress_dial_SOURCES = tests/unit/test_egress_dial.c tests/unit/test_base_scratch.h
tests_unit_test_egress_dial_CFLAGS = $(egress_test_cflags)
tests_unit_test_egress_dial_LDADD = $(egress_test_libs)
egress_test_world = tests/unit/flow_world.c tests/unit/flow_world.h tests/unit/test_base_scratch.h
tests_unit_test_egress_flow_SOURCES = tests/unit/test_egress_flow.c $(egress_test_world)
tests_unit_test_egress_flow_CFLAGS = $(egress_test_cflags)
tests_unit_test_egress_flow_LDADD = $(egress_test_libs)
tests_unit_test_egress_requests_SOURCES = tests/unit/test_egress_requests.c $(egress_test_world)
tests_unit_test_egress_requests_CFLAGS = $(egress_test_cflags)
tests_unit_test_egress_requests_LDADD = $(egress_test_libs)
tests_unit_test_egress_limits_SOURCES = tests/unit/test_egress_limits.c $(egress_test_world)
tests_unit_test_egress_limits_CFLAGS = $(egress_test_cflags)
tests_unit_test_egress_limits_LDADD = $(egress_test_libs)

# The whole way out: a guest, a real hutch-worker, flows, dials, servers on loopback.
WAY_TESTS = tests/unit/test_way tests/unit/test_way_hostile
check_PROGRAMS += $(WAY_TESTS)
TESTS += $(WAY_TESTS)
way_rig = tests/unit/way_rig.c tests/unit/way_rig.h tests/unit/way_tools.c $(flow_guest)
way_test_libs = libguestlink.a libegress.a libpolicy.a libwire.a libbase.a $(WIRE_LIBS) $(POLICY_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_way_SOURCES = tests/unit/test_way.c $(way_rig)
tests_unit_test_way_CFLAGS = $(worker_test_cflags)
tests_unit_test_way_LDADD = $(way_test_libs)
tests_unit_test_way_hostile_SOURCES = tests/unit/test_way_hostile.c tests/lib/frames.c tests/lib/frames.h $(way_rig)
tests_unit_test_way_hostile_CFLAGS = $(worker_test_cflags)
tests_unit_test_way_hostile_LDADD = $(way_test_libs)
