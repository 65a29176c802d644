# The words in other languages (src/base/words.h). A language is po/NAME.po and its three lines here.
# `make update-po` brings the catalogues up to the sources.
EXTRA_DIST += po/extract.sh po/zh_CN.po
zh_CNdir = $(localedir)/zh_CN/LC_MESSAGES
nodist_zh_CN_DATA = po/locale/zh_CN/LC_MESSAGES/hutch.mo
CLEANFILES += $(nodist_zh_CN_DATA) po/hutch.pot

# The build tree has them as an installation does: the programs find them there.
po/locale/%/LC_MESSAGES/hutch.mo: po/%.po
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(MSGFMT) -o $@.new $< && mv $@.new $@

# Every source of what a person sees.
MESSAGE_FILES = $(filter %.c %.h %.def,$(libmodel_a_SOURCES) $(libview_a_SOURCES) $(libterminal_a_SOURCES) \
	$(libterm_a_SOURCES) $(libgrid_a_SOURCES) $(libcli_a_SOURCES) $(libclient_a_SOURCES) $(hutch_SOURCES)) \
	src/conf/names.c ui/styles.def src/daemon/steps.def src/policy/reasons.def src/policy/host_display.c src/daemon/doctor.c
po/hutch.pot: $(MESSAGE_FILES) po/extract.sh
	$(AM_V_GEN)$(MKDIR_P) po && sh $(srcdir)/po/extract.sh $(srcdir) $@ $(filter %.c %.h,$(MESSAGE_FILES))
update-po: po/hutch.pot
	for one in $(srcdir)/po/*.po; do \
	  msgmerge -q --update --backup=none --previous --add-location=file $$one po/hutch.pot || exit 1; done
.PHONY: update-po
