noinst_LIBRARIES += libimage.a
libimage_a_SOURCES = %D%/image.h %D%/base.c %D%/build.c %D%/host.c %D%/host.h %D%/mirror.c %D%/mirror.h \
	%D%/progress.c %D%/progress.h %D%/runner.c %D%/runner.h

templatesdir = $(pkgdatadir)/templates
dist_templates_DATA = templates/debian-12.ini templates/debian-13.ini templates/debian.sh
dist_man_MANS += doc/hutch-template.5

