# hutch-guest is one static binary that runs in any Linux guest.
pkglibexec_PROGRAMS += hutch-guest
hutch_guest_SOURCES = \
	%D%/main.c \
	%D%/package_hosts.c \
	%D%/supervise.c %D%/supervise.h \
	%D%/serve.c %D%/serve.h %D%/checkpoint.c %D%/checkpoint.h \
	%D%/port.c %D%/port.h %D%/port_device.c %D%/port_device.h \
	%D%/place.c %D%/place.h \
	%D%/user.c %D%/user.h \
	%D%/cgroup.c %D%/cgroup.h \
	%D%/children.c %D%/children.h \
	%D%/query.c %D%/query.h \
	%D%/agent.h %D%/call.c %D%/api.c %D%/api.h \
	%D%/run.c %D%/run.h \
	%D%/net.c %D%/net.h %D%/net_environment.c %D%/net_environment.h \
	%D%/route.c %D%/route.h %D%/capture.c %D%/capture.h \
	%D%/flow.c %D%/flow.h %D%/flow_internal.h %D%/flow_refuse.c %D%/flows.c \
	%D%/claim.c %D%/claim.h %D%/claim_proc.c %D%/denials.c %D%/denials.h \
	%D%/stub.c %D%/stub.h %D%/stub_internal.h %D%/stub_names.c %D%/wait.c %D%/wait.h \
	%D%/host_ask.c %D%/host_ask.h %D%/push_hook.c %D%/push_hook.h \
	%D%/task.c %D%/task.h %D%/task_as.c \
	%D%/file_job.c %D%/file_job.h \
	%D%/files.c %D%/git.c %D%/git_collect.c %D%/tcp.c \
	%D%/remote.c %D%/remote.h \
	%D%/health.c %D%/health.h %D%/clock.c %D%/freeze.c %D%/freeze.h %D%/freeze_call.c %D%/identity.c %D%/grow.c %D%/power.c \
	%D%/ring.c %D%/ring.h \
	%D%/output.c %D%/output.h %D%/input.c %D%/input.h \
	%D%/session.h %D%/session_spec.c %D%/session_child.c %D%/session_control.c %D%/session_process.c %D%/session_spare.c %D%/session_spare.h \
	%D%/session_client.c %D%/session_client.h %D%/session_table.c %D%/session_table.h \
	%D%/sessions.c %D%/session_streams.c
hutch_guest_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
hutch_guest_LDADD = libguard.a libwire.a libbase.a
if STATIC_GUEST
# The archives by name: pkg-config --static still names shared libraries. Nothing here needs libcrypto.
hutch_guest_SOURCES += %D%/origin.c
hutch_guest_LDFLAGS = $(AM_LDFLAGS) -static-pie
hutch_guest_LDADD += -l:libnghttp2.a $(UV_STATIC) -l:libjansson.a -ldl -lrt
else
hutch_guest_LDADD += $(WIRE_LIBS) $(CRYPTO_LIBS)
endif

# Tests: a real `hutch-guest serve --ports`, spoken to as the host does.
AGENT_RIG = tests/lib/agent_rig.c tests/lib/agent_rig.h
AGENT_TEST_CFLAGS = $(UNIT_CFLAGS) -I$(top_srcdir)/tests/lib $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
AGENT_TEST_LIBS = libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
AGENT_TESTS = tests/unit/test_guest_parts tests/unit/test_guest_session tests/unit/test_guest_spare tests/unit/test_guest_files tests/unit/test_guest_git tests/unit/test_guest_net tests/unit/test_guest_capture
check_PROGRAMS += $(AGENT_TESTS)
TESTS += $(AGENT_TESTS)

tests_unit_test_guest_session_SOURCES = tests/unit/test_guest_session.c $(AGENT_RIG)
tests_unit_test_guest_session_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_unit_test_guest_session_LDADD = $(AGENT_TEST_LIBS)
tests_unit_test_guest_spare_SOURCES = tests/unit/test_guest_spare.c $(AGENT_RIG)
tests_unit_test_guest_spare_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_unit_test_guest_spare_LDADD = $(AGENT_TEST_LIBS)
tests_unit_test_guest_files_SOURCES = tests/unit/test_guest_files.c $(AGENT_RIG)
tests_unit_test_guest_files_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_unit_test_guest_files_LDADD = $(AGENT_TEST_LIBS)
tests_unit_test_guest_git_SOURCES = tests/unit/test_guest_git.c $(AGENT_RIG)
tests_unit_test_guest_git_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_unit_test_guest_git_LDADD = $(AGENT_TEST_LIBS)
tests_unit_test_guest_parts_SOURCES = tests/unit/test_guest_parts.c src/guest/ring.c src/guest/query.c src/guest/freeze.c
tests_unit_test_guest_parts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_guest_parts_LDADD = libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)

# The way out: the agent between clients and a fake host.
NET_RIG = tests/lib/net_rig.c tests/lib/net_rig.h tests/lib/fake_egress.c tests/lib/fake_egress.h
tests_unit_test_guest_net_SOURCES = tests/unit/test_guest_net.c $(NET_RIG)
tests_unit_test_guest_net_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_unit_test_guest_net_LDADD = $(AGENT_TEST_LIBS)
tests_unit_test_guest_capture_SOURCES = tests/unit/test_guest_capture.c $(NET_RIG)
tests_unit_test_guest_capture_CFLAGS = $(AGENT_TEST_CFLAGS)
tests_unit_test_guest_capture_LDADD = $(AGENT_TEST_LIBS)
