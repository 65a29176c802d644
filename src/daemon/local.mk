noinst_LIBRARIES += libdaemon.a
libdaemon_a_SOURCES = \
	%D%/alone.c %D%/alone.h %D%/attach.c %D%/boot_wait.c %D%/clock.c %D%/clock.h %D%/code_in.c %D%/console.c %D%/console.h \
	%D%/create.c %D%/create.h %D%/daemon.c %D%/daemon.h %D%/doctor.c %D%/doctor.h %D%/events.c %D%/events.h \
	%D%/git_out.c %D%/git_out.h %D%/git_lost.c %D%/git_lost.h %D%/git_list.c %D%/routes_git.c %D%/git_send.c %D%/git_send.h %D%/git_asked.c %D%/git_asked.h %D%/git_push.c %D%/git_pushes.c %D%/git_stream.c \
	%D%/exec_end.c %D%/exec_end.h %D%/freeze.c %D%/freeze.h %D%/host.c %D%/host.h \
	%D%/identity.c %D%/inbox.c %D%/inbox.h %D%/inbox_egress.c %D%/inbox_egress.h %D%/inbox_grants.c %D%/inbox_grants.h %D%/inbox_seen.c %D%/inbox_seen.h %D%/inbox_fields.c %D%/inbox_fields.h \
	%D%/inbox_settings.c %D%/inbox_settings.h %D%/inbox_show.c %D%/inbox_show.h %D%/routes_request.c %D%/routes_review.c %D%/land.c %D%/land.h %D%/land_allowed.c %D%/job.c %D%/job.h %D%/logfile.c %D%/logfile.h %D%/machine.c %D%/machine.h %D%/ops.h \
	%D%/post.c %D%/post.h %D%/power.c %D%/project.c %D%/project.h %D%/quit.c %D%/quit.h %D%/quit_client.c \
	%D%/quit_client.h %D%/reconcile.c %D%/relay.c %D%/relay.h %D%/remove.c %D%/routes_event.c \
	%D%/routes_file.c %D%/routes_host.c %D%/routes_project.c %D%/routes_session.c %D%/routes_template.c %D%/routes_way.c \
	%D%/rules.c %D%/rules.h \
	%D%/server.c %D%/server.h %D%/show.c %D%/show.h %D%/state.c %D%/state.h %D%/state_rows.c \
	%D%/state_requests.c %D%/state_requests.h %D%/state_store.h %D%/state_snapshots.c %D%/state_snapshots.h %D%/layers.c %D%/layers.h %D%/snapshot.c %D%/snapshot.h %D%/snapshot_show.c %D%/snapshot_plan.c %D%/restore.c %D%/merge.c %D%/routes_snapshot.c %D%/diff.c %D%/diff.h %D%/routes_diff.c %D%/steps.def %D%/up.c %D%/way.c %D%/way.h %D%/way_log.c \
	%D%/way_internal.h %D%/way_guest.c %D%/way_budget.c %D%/way_policy.c %D%/way_proxy.c %D%/way_rules.c %D%/way_ports.c %D%/way_past.c %D%/past.c %D%/past.h %D%/way_show.c %D%/work.c %D%/work.h
DAEMON_CFLAGS = $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS) $(SQLITE_CFLAGS) $(LIBVIRT_CFLAGS) $(CRYPTO_CFLAGS)
libdaemon_a_CFLAGS = $(AM_CFLAGS) $(DAEMON_CFLAGS)
DAEMON_LIBS = libdaemon.a libapproval.a libguestlink.a libegress.a libpolicy.a librepo.a libreview.a libdiff.a libimage.a libvm.a libjournal.a libconf.a libwire.a libbase.a $(WIRE_LIBS) \
	$(SQLITE_LIBS) $(POLICY_LIBS) $(LIBVIRT_LIBS) $(INIH_LIBS) $(GIT2_LIBS) $(CRYPTO_LIBS)
pkglibexec_PROGRAMS += hutchd
hutchd_SOURCES = %D%/main.c
hutchd_CFLAGS = $(AM_CFLAGS) $(DAEMON_CFLAGS)
hutchd_LDADD = $(DAEMON_LIBS)

tests_unit_test_daemon_snapshots_SOURCES = tests/unit/test_daemon_snapshots.c
tests_unit_test_daemon_snapshots_CFLAGS = $(UNIT_CFLAGS) $(DAEMON_CFLAGS)
tests_unit_test_daemon_snapshots_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
DAEMON_TESTS = tests/unit/test_daemon_state tests/unit/test_daemon_snapshots tests/unit/test_daemon_project tests/unit/test_daemon_rules tests/unit/test_past tests/unit/test_inbox_egress
check_PROGRAMS += $(DAEMON_TESTS)
TESTS += $(DAEMON_TESTS)
tests_unit_test_daemon_rules_SOURCES = tests/unit/test_daemon_rules.c
tests_unit_test_daemon_rules_CFLAGS = $(UNIT_CFLAGS) $(DAEMON_CFLAGS)
tests_unit_test_daemon_rules_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_past_SOURCES = tests/unit/test_past.c
tests_unit_test_past_CFLAGS = $(UNIT_CFLAGS) $(DAEMON_CFLAGS)
tests_unit_test_past_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_inbox_egress_SOURCES = tests/unit/test_inbox_egress.c $(egress_test_world)
tests_unit_test_inbox_egress_CFLAGS = $(UNIT_CFLAGS) $(DAEMON_CFLAGS)
tests_unit_test_inbox_egress_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_daemon_state_SOURCES = tests/unit/test_daemon_state.c
tests_unit_test_daemon_state_CFLAGS = $(UNIT_CFLAGS) $(DAEMON_CFLAGS)
tests_unit_test_daemon_state_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_daemon_project_SOURCES = tests/unit/test_daemon_project.c
tests_unit_test_daemon_project_CFLAGS = $(UNIT_CFLAGS) $(DAEMON_CFLAGS)
tests_unit_test_daemon_project_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)

# hutchd with the fake host and the real hutch-guest.
dist_check_SCRIPTS += tests/e2e/fake_rules.sh tests/e2e/fake_life.sh tests/e2e/fake_jobs.sh tests/e2e/fake_killed.sh tests/e2e/fake_scan.sh tests/e2e/fake_crash.sh tests/e2e/fake_snapshots.sh tests/e2e/fake_diff.sh tests/e2e/fake_remove.sh tests/e2e/fake_requests.sh tests/e2e/fake_review.sh tests/e2e/fake_git.sh tests/e2e/fake_landed.sh tests/e2e/fake_remote.sh tests/e2e/fake_sha256.sh tests/e2e/fake_frozen.sh
TESTS += tests/e2e/fake_rules.sh tests/e2e/fake_life.sh tests/e2e/fake_jobs.sh tests/e2e/fake_killed.sh tests/e2e/fake_scan.sh tests/e2e/fake_crash.sh tests/e2e/fake_snapshots.sh tests/e2e/fake_diff.sh tests/e2e/fake_remove.sh tests/e2e/fake_requests.sh tests/e2e/fake_review.sh tests/e2e/fake_git.sh tests/e2e/fake_landed.sh tests/e2e/fake_remote.sh tests/e2e/fake_sha256.sh tests/e2e/fake_frozen.sh

dist_man_MANS += doc/hutchd.8
EXTRA_DIST += %D%/hutchd.service.in
CLEANFILES += hutchd.service
systemduserunit_DATA = hutchd.service
hutchd.service: $(srcdir)/%D%/hutchd.service.in Makefile
	$(AM_V_GEN)sed 's|@pkglibexecdir[@]|$(pkglibexecdir)|' $(srcdir)/%D%/hutchd.service.in > $@
