# The sources of ui/view.
noinst_LIBRARIES += libview.a
libview_a_SOURCES = %D%/draw.c %D%/draw.h %D%/paint.c %D%/paint.h %D%/list_draw.c %D%/form.c %D%/form.h %D%/demo.c %D%/demo.h %D%/terminal.h %D%/diff.c %D%/diff.h %D%/prompt.c %D%/prompt.h
libview_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

# The screen without a terminal and without hutchd. GENERATE=1 writes the golden files anew.
if HAVE_CMOCKA
SCREEN_TESTS = tests/unit/test_model_tables tests/unit/test_model_list tests/unit/test_model_app tests/unit/test_model_terminal \
	tests/screen/test_screen tests/screen/test_demo \
	tests/screen/test_views tests/unit/test_model_views tests/screen/test_words tests/unit/test_model_use \
	tests/screen/test_requests tests/unit/test_model_lines tests/unit/test_model_requests tests/unit/test_model_prompt \
	tests/unit/test_model_net tests/screen/test_monkey tests/screen/test_git
check_PROGRAMS += $(SCREEN_TESTS)
TESTS += $(SCREEN_TESTS)
check_LIBRARIES += libscreentest.a
libscreentest_a_SOURCES = tests/screen/screen.c tests/screen/screen.h
libscreentest_a_CFLAGS = $(SCREEN_TEST_CFLAGS)
SCREEN_TEST_CFLAGS = $(UNIT_CFLAGS) $(JANSSON_CFLAGS)
SCREEN_TEST_LIBS = libscreentest.a libview.a libmodel.a libterminal.a libview.a libmodel.a libconf.a $(PANE_LIBS) $(INIH_LIBS) \
	$(JANSSON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_model_tables_SOURCES = tests/unit/test_model_tables.c
tests_unit_test_model_tables_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_tables_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_git_SOURCES = tests/screen/test_git.c tests/screen/git.h tests/screen/requests.h
tests_screen_test_git_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_screen_test_git_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_list_SOURCES = tests/unit/test_model_list.c
tests_unit_test_model_list_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_list_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_app_SOURCES = tests/unit/test_model_app.c
tests_unit_test_model_app_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_app_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_terminal_SOURCES = tests/unit/test_model_terminal.c
tests_unit_test_model_terminal_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_terminal_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_views_SOURCES = tests/screen/test_views.c tests/screen/views.h
tests_screen_test_views_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_screen_test_views_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_views_SOURCES = tests/unit/test_model_views.c tests/screen/views.h
tests_unit_test_model_views_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_views_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_use_SOURCES = tests/unit/test_model_use.c
tests_unit_test_model_use_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_use_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_demo_SOURCES = tests/screen/test_demo.c
tests_screen_test_demo_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_screen_test_demo_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_screen_SOURCES = tests/screen/test_screen.c
tests_screen_test_screen_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_screen_test_screen_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_words_SOURCES = tests/screen/test_words.c
tests_screen_test_words_CFLAGS = $(SCREEN_TEST_CFLAGS) -DHUTCH_TEST_LOCALE='"$(abs_top_builddir)/po/locale"'
tests_screen_test_words_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_monkey_SOURCES = tests/screen/test_monkey.c tests/screen/hostile.c tests/screen/hostile.h
tests_screen_test_monkey_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_screen_test_monkey_LDADD = $(SCREEN_TEST_LIBS)
tests_screen_test_requests_SOURCES = tests/screen/test_requests.c tests/screen/requests.h
tests_screen_test_requests_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_screen_test_requests_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_lines_SOURCES = tests/unit/test_model_lines.c tests/screen/requests.h
tests_unit_test_model_lines_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_lines_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_requests_SOURCES = tests/unit/test_model_requests.c tests/screen/requests.h
tests_unit_test_model_requests_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_requests_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_prompt_SOURCES = tests/unit/test_model_prompt.c tests/screen/requests.h
tests_unit_test_model_prompt_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_prompt_LDADD = $(SCREEN_TEST_LIBS)
tests_unit_test_model_net_SOURCES = tests/unit/test_model_net.c tests/screen/requests.h
tests_unit_test_model_net_CFLAGS = $(SCREEN_TEST_CFLAGS)
tests_unit_test_model_net_LDADD = $(SCREEN_TEST_LIBS)
endif
