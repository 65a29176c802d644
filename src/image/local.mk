noinst_LIBRARIES += libimage.a
libimage_a_SOURCES = %D%/image.h %D%/base.c %D%/build.c %D%/host.c %D%/host.h %D%/mirror.c %D%/mirror.h \
	%D%/progress.c %D%/progress.h %D%/runner.c %D%/runner.h %D%/sweep.c %D%/sweep.h

templatesdir = $(pkgdatadir)/templates
presetsdir = $(templatesdir)/presets
dist_presets_DATA = templates/presets/containers.ini templates/presets/debian.ini templates/presets/git-hosts.ini \
	templates/presets/go.ini templates/presets/node.ini templates/presets/python.ini templates/presets/rust.ini \
	templates/presets/telemetry-off.ini templates/presets/user-content.ini
dist_templates_DATA = templates/debian-12.ini templates/debian-13.ini templates/debian.sh templates/demo-agent.sh
# The repository of `hutch demo` and of quickstart.
demodir = $(templatesdir)/demo
dist_demo_DATA = templates/demo/Makefile templates/demo/README.md templates/demo/words.c
dist_demo_SCRIPTS = templates/demo/test.sh
dist_man_MANS += doc/hutch-template.5

TESTS += tests/unit/test_package_hosts.sh

if HAVE_CMOCKA
IMAGE_TESTS = tests/unit/test_image tests/unit/test_image_build
check_PROGRAMS += $(IMAGE_TESTS)
TESTS += $(IMAGE_TESTS)
IMAGE_TEST_LIBS = libimage.a libconf.a libbase.a $(INIH_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_image_SOURCES = tests/unit/test_image.c
tests_unit_test_image_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_image_LDADD = $(IMAGE_TEST_LIBS)
tests_unit_test_image_build_SOURCES = tests/unit/test_image_build.c
tests_unit_test_image_build_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_image_build_LDADD = $(IMAGE_TEST_LIBS)
endif
