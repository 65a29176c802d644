noinst_LIBRARIES += libworker.a
libworker_a_SOURCES = \
	%D%/flow_proto.h %D%/proto.h %D%/worker.c %D%/worker.h %D%/channel.c %D%/channel.h \
	%D%/decode.c %D%/decode.h %D%/port.c %D%/port.h %D%/call.c %D%/call.h \
	%D%/confine.c %D%/confine.h %D%/flow.c %D%/flow.h %D%/flow_claim.c %D%/flow_claim.h \
	%D%/flow_internal.h %D%/flow_relay.c
libworker_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS) $(SECCOMP_CFLAGS)
pkglibexec_PROGRAMS += hutch-worker
hutch_worker_SOURCES = %D%/main.c
hutch_worker_CFLAGS = $(libworker_a_CFLAGS)
hutch_worker_LDFLAGS = $(AM_LDFLAGS) -Wl,--as-needed
hutch_worker_LDADD = libworker.a libguard.a libwire.a libbase.a $(WIRE_LIBS) $(SECCOMP_LIBS) $(CRYPTO_LIBS)

# hutchd's side of it, a library of its own so that its tests need nothing else of hutchd.
noinst_LIBRARIES += libguestlink.a
libguestlink_a_SOURCES = \
	src/daemon/guest.c src/daemon/guest.h src/daemon/guest_internal.h src/daemon/guest_pool.c \
	src/daemon/guest_calls.c src/daemon/guest_calls.h \
	src/daemon/guest_worker.c src/daemon/guest_worker.h src/daemon/guest_check.c src/daemon/guest_check.h src/daemon/flow_check.c \
	src/worker/channel.c
libguestlink_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS)

WORKER_TESTS = tests/unit/test_worker tests/unit/test_guest_link tests/unit/test_guest_hostile tests/unit/test_guest_pool \
	tests/unit/test_guest_agent tests/unit/test_flow tests/unit/test_flow_hostile
check_PROGRAMS += $(WORKER_TESTS)
TESTS += $(WORKER_TESTS)
worker_test_cflags = $(UNIT_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
worker_test_libs = libguestlink.a libworker.a libguard.a libwire.a libbase.a $(WIRE_LIBS) $(SECCOMP_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_worker_SOURCES = tests/unit/test_worker.c
tests_unit_test_worker_CFLAGS = $(worker_test_cflags)
tests_unit_test_worker_LDADD = $(worker_test_libs)
worker_test_world = tests/unit/fake_guest.c tests/unit/fake_guest.h tests/unit/guest_world.c tests/unit/guest_world.h
tests_unit_test_guest_link_SOURCES = tests/unit/test_guest_link.c $(worker_test_world)
tests_unit_test_guest_link_CFLAGS = $(worker_test_cflags)
tests_unit_test_guest_link_LDADD = $(worker_test_libs)
tests_unit_test_guest_hostile_SOURCES = tests/unit/test_guest_hostile.c $(worker_test_world)
tests_unit_test_guest_hostile_CFLAGS = $(worker_test_cflags)
tests_unit_test_guest_hostile_LDADD = $(worker_test_libs)
tests_unit_test_guest_pool_SOURCES = tests/unit/test_guest_pool.c $(worker_test_world)
tests_unit_test_guest_pool_CFLAGS = $(worker_test_cflags)
tests_unit_test_guest_pool_LDADD = $(worker_test_libs)
tests_unit_test_guest_agent_SOURCES = tests/unit/test_guest_agent.c $(worker_test_world)
tests_unit_test_guest_agent_CFLAGS = $(worker_test_cflags)
tests_unit_test_guest_agent_LDADD = $(worker_test_libs)
flow_guest = tests/unit/flow_guest.c tests/unit/flow_guest.h
flow_rig = tests/unit/flow_rig.c tests/unit/flow_rig.h $(flow_guest)
tests_unit_test_flow_SOURCES = tests/unit/test_flow.c $(flow_rig)
tests_unit_test_flow_CFLAGS = $(worker_test_cflags)
tests_unit_test_flow_LDADD = $(worker_test_libs)
tests_unit_test_flow_hostile_SOURCES = tests/unit/test_flow_hostile.c $(flow_rig)
tests_unit_test_flow_hostile_CFLAGS = $(worker_test_cflags)
tests_unit_test_flow_hostile_LDADD = $(worker_test_libs)
dist_check_SCRIPTS += tests/unit/test_attacks.sh
TESTS += tests/unit/test_attacks.sh
