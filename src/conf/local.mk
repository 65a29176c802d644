dist_man_MANS += doc/hutch-rules.5
noinst_LIBRARIES += libconf.a
libconf_a_SOURCES = %D%/ini.c %D%/ini.h %D%/keys.c %D%/keys.h %D%/keys.def %D%/names.c %D%/names.h \
	%D%/template.c %D%/template.h \
	%D%/egress.c %D%/egress.h %D%/egress_internal.h %D%/egress_edit.c %D%/egress_ports.c %D%/preset.c \
	%D%/package_hosts.c %D%/package_hosts.h
libconf_a_CFLAGS = $(AM_CFLAGS) $(INIH_CFLAGS) $(CRYPTO_CFLAGS)

if HAVE_CMOCKA
CONF_TESTS = tests/unit/test_ini tests/unit/test_names tests/unit/test_template tests/unit/test_conf_egress \
	tests/unit/test_package_hosts
check_PROGRAMS += $(CONF_TESTS)
TESTS += $(CONF_TESTS)
CONF_TEST_LIBS = libconf.a libbase.a $(INIH_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
tests_unit_test_ini_SOURCES = tests/unit/test_ini.c
tests_unit_test_ini_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ini_LDADD = $(CONF_TEST_LIBS)
tests_unit_test_names_SOURCES = tests/unit/test_names.c
tests_unit_test_names_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_names_LDADD = $(CONF_TEST_LIBS)
tests_unit_test_template_SOURCES = tests/unit/test_template.c
tests_unit_test_template_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_template_LDADD = $(CONF_TEST_LIBS)
tests_unit_test_package_hosts_SOURCES = tests/unit/test_package_hosts.c
tests_unit_test_package_hosts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_package_hosts_LDADD = $(CONF_TEST_LIBS)
tests_unit_test_conf_egress_SOURCES = tests/unit/test_conf_egress.c
tests_unit_test_conf_egress_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_conf_egress_LDADD = $(POLICY_LIBS) $(CONF_TEST_LIBS)
endif
