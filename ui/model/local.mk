# The sources of ui/model.
noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = ui/actions.def ui/keys.def ui/options.def ui/demo.def %D%/views.def \
	%D%/message.h %D%/effect.c %D%/effect.h %D%/action.c %D%/action.h \
	%D%/settings.c %D%/settings.h %D%/settings_file.c %D%/settings_file.h \
	%D%/field.c %D%/field.h %D%/input.c %D%/input.h %D%/pattern.c %D%/list.c %D%/list.h \
	%D%/project.c %D%/project.h %D%/event.c %D%/event.h %D%/event_older.c %D%/layout.c %D%/layout.h \
	%D%/view.c %D%/view.h %D%/view_projects.c %D%/view_timeline.c %D%/view_over.c \
	%D%/project_act.c %D%/project_act.h %D%/act.c %D%/act_many.c %D%/does.c %D%/keys.c %D%/feed.c \
	%D%/lines.c %D%/lines.h %D%/reader.c %D%/reader.h %D%/session.c %D%/session.h %D%/view_exec.c \
	%D%/view_info.c %D%/work.c %D%/work.h %D%/form.c %D%/form.h %D%/template.h %D%/view_templates.c \
	%D%/doctor.h %D%/view_doctor.c %D%/inbox.c %D%/inbox.h %D%/prompt.c %D%/prompt_keys.c %D%/prompt_text.c %D%/view_requests.c \
	%D%/net.c %D%/net.h %D%/view_net.c %D%/git.c %D%/git.h %D%/view_git.c %D%/diff.c %D%/diff.h %D%/diff_rows.c %D%/word_diff.c %D%/word_diff.h %D%/review.c %D%/review.h \
	%D%/review_text.c %D%/review_act.c %D%/view_push.c %D%/rules.h %D%/view_rules.c %D%/demo.c %D%/demo.h %D%/demo_agent.c %D%/demo_agent.h \
	%D%/terminal_host.c %D%/terminal.h %D%/app.c %D%/app.h %D%/app_state.h
libmodel_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
