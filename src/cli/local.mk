noinst_LIBRARIES += libcli.a
libcli_a_SOURCES = \
	%D%/verb.h %D%/verbs.def %D%/log_kinds.def %D%/verbs.c %D%/args.c %D%/args.h %D%/help.h \
	%D%/out.c %D%/out.h %D%/progress.c %D%/progress.h %D%/project.c %D%/project.h \
	%D%/filter.c %D%/filter.h %D%/terminal.c %D%/terminal.h %D%/when.c %D%/when.h \
	%D%/tar.c %D%/tar.h %D%/tree.c %D%/tree.h %D%/untar.c %D%/untar.h \
	%D%/session.c %D%/session.h %D%/session_io.c %D%/session_internal.h %D%/list.c %D%/list.h %D%/git.h %D%/git_review.c %D%/land.c %D%/remote.c %D%/remote.h \
	%D%/up.c %D%/power.c %D%/exec.c %D%/cp.c %D%/cp_in.c %D%/cp_out.c %D%/cp.h %D%/log.c \
	%D%/nc.c %D%/host_port.c %D%/git_ls.c %D%/snap.c %D%/snap.h %D%/snapshot.c %D%/restore.c %D%/diff.c %D%/request.c %D%/request.h %D%/requests.c %D%/rule.c %D%/template.c %D%/doctor.c %D%/demo.c %D%/about.c \
	%D%/status.c %D%/status.h %D%/completion.c \
	%D%/screen.c %D%/screen.h %D%/screen_internal.h %D%/screen_input.c %D%/screen_effect.c \
	%D%/screen_task.c %D%/screen_link.c %D%/screen_settings.c %D%/screen_edit.c %D%/screen_script.c \
	%D%/screen_session.c %D%/screen_session.h
libcli_a_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)

bin_PROGRAMS += hutch
dist_man_MANS += doc/hutch.1
hutch_SOURCES = %D%/main.c

# git finds the remote helper by its name.
noinst_DATA = git-remote-hutch
CLEANFILES += git-remote-hutch
git-remote-hutch: hutch$(EXEEXT)
	$(AM_V_GEN)ln -sf hutch$(EXEEXT) $@
install-exec-hook:
	cd $(DESTDIR)$(bindir) && ln -sf hutch$(EXEEXT) git-remote-hutch
uninstall-hook:
	rm -f $(DESTDIR)$(bindir)/git-remote-hutch

# What the shells complete, from the verbs' table; each where its shell looks.
COMPLETIONS = completion/hutch completion/_hutch completion/hutch.fish
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = completion/hutch
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = completion/_hutch
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = completion/hutch.fish
CLEANFILES += $(COMPLETIONS)
completion/hutch: hutch$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./hutch completion bash >$@.new && mv $@.new $@
completion/_hutch: hutch$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./hutch completion zsh >$@.new && mv $@.new $@
completion/hutch.fish: hutch$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) completion && ./hutch completion fish >$@.new && mv $@.new $@

hutch_CFLAGS = $(AM_CFLAGS) $(UV_CFLAGS) $(NGHTTP2_CFLAGS) $(JANSSON_CFLAGS)
hutch_LDADD = libcli.a $(SCREEN_LIBS) libclient.a libwire.a libconf.a libbase.a $(SCREEN_SYSTEM_LIBS) \
	$(WIRE_LIBS) $(CRYPTO_LIBS)
SCREEN_LIBS = libview.a libmodel.a libterminal.a libmodel.a libpane.a libterm.a libgrid.a
SCREEN_SYSTEM_LIBS = $(CURSES_LIBS) $(VTERM_LIBS) $(INIH_LIBS)

if HAVE_CMOCKA
CLI_TESTS = tests/unit/test_cli tests/unit/test_screen_loop tests/unit/test_cli_tar tests/unit/test_cli_tar_back
check_PROGRAMS += $(CLI_TESTS)
TESTS += $(CLI_TESTS)
CLI_TEST_CFLAGS = $(UNIT_CFLAGS) $(NGHTTP2_CFLAGS) $(UV_CFLAGS) $(JANSSON_CFLAGS)
CLI_TEST_LIBS = libcli.a $(SCREEN_LIBS) libclient.a libconf.a libwire.a libbase.a $(SCREEN_SYSTEM_LIBS) \
	$(WIRE_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_cli_SOURCES = tests/unit/test_cli.c
tests_unit_test_cli_CFLAGS = $(CLI_TEST_CFLAGS)
tests_unit_test_cli_LDADD = $(CLI_TEST_LIBS)
tests_unit_test_screen_loop_SOURCES = tests/unit/test_screen_loop.c tests/unit/test_base_scratch.h
tests_unit_test_screen_loop_CFLAGS = $(CLI_TEST_CFLAGS)
tests_unit_test_screen_loop_LDADD = $(CLI_TEST_LIBS)
tests_unit_test_cli_tar_SOURCES = tests/unit/test_cli_tar.c tests/unit/test_cli_archive.h tests/unit/test_base_scratch.h
tests_unit_test_cli_tar_CFLAGS = $(CLI_TEST_CFLAGS)
tests_unit_test_cli_tar_LDADD = $(CLI_TEST_LIBS)
tests_unit_test_cli_tar_back_SOURCES = tests/unit/test_cli_tar_back.c tests/unit/test_cli_archive.h tests/unit/test_base_scratch.h
tests_unit_test_cli_tar_back_CFLAGS = $(CLI_TEST_CFLAGS)
tests_unit_test_cli_tar_back_LDADD = $(CLI_TEST_LIBS)

# The client's program against a hutchd of the tests.
check_PROGRAMS += tests/unit/fake_hutchd
tests_unit_fake_hutchd_SOURCES = tests/unit/fake_hutchd.c
tests_unit_fake_hutchd_CFLAGS = $(CLI_TEST_CFLAGS)
tests_unit_fake_hutchd_LDADD = libwire.a libbase.a $(WIRE_LIBS) $(CRYPTO_LIBS)
TESTS += tests/unit/test_client.sh tests/unit/test_quickstart.sh tests/unit/test_words.sh tests/unit/test_cli_man.sh tests/unit/test_cli_kinds.sh tests/unit/test_cli_completion.sh tests/e2e/cli_fake.sh \
	tests/e2e/screen_fake.sh tests/e2e/screen_git.sh
endif
