noinst_LIBRARIES += libvm.a
libvm_a_SOURCES = %D%/vm.h %D%/vm.c %D%/xml.h %D%/xml.c %D%/cage.h %D%/cage.c \
	%D%/domain_xml.h %D%/domain_xml.c %D%/domain_rewrite.c \
	%D%/libvirt.c %D%/libvirt.h %D%/libvirt_ops.c %D%/libvirt_read.c %D%/libvirt_snapshot.c %D%/host.c %D%/host.h \
	%D%/qemu_log.c %D%/qemu_log.h %D%/block_chain.c %D%/block_chain.h \
	%D%/fake.c %D%/fake.h %D%/fake_store.c %D%/layer.c %D%/layer.h %D%/qcow2.c %D%/qcow2.h %D%/boot.c %D%/boot.h
libvm_a_CFLAGS = $(AM_CFLAGS) $(LIBVIRT_CFLAGS) $(JANSSON_CFLAGS)

# The emulator wrapper: confines itself, then becomes QEMU.
pkglibexec_PROGRAMS += hutch-qemu
hutch_qemu_SOURCES = %D%/confine_qemu.c %D%/cage_apply.c %D%/cage_apply.h %D%/cage_filter.c %D%/cage.c %D%/cage.h
hutch_qemu_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS)
hutch_qemu_LDADD = libbase.a $(SECCOMP_LIBS)

# A machine without one, for tests (HUTCH_FAKE_GUEST).
noinst_PROGRAMS += hutch-fake-machine
hutch_fake_machine_SOURCES = %D%/fake_machine.c
hutch_fake_machine_LDADD = libbase.a

# One machine through libvirt: tests/e2e/vm.sh BUILD BASE.
check_PROGRAMS += tests/e2e/vm_driver tests/e2e/vm_guest
tests_e2e_vm_guest_SOURCES = tests/e2e/vm_guest.c
tests_e2e_vm_guest_CFLAGS = -std=c11 -D_GNU_SOURCE -O2 $(WARN_CFLAGS)
tests_e2e_vm_guest_LDFLAGS = -static
tests_e2e_vm_driver_SOURCES = tests/e2e/vm_driver.c
tests_e2e_vm_driver_CFLAGS = $(AM_CFLAGS) $(LIBVIRT_CFLAGS)
tests_e2e_vm_driver_LDADD = libvm.a libbase.a $(LIBVIRT_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS)

VM_TEST_LIBS = libvm.a libbase.a $(LIBVIRT_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test_vm tests/unit/test_layer tests/unit/test_boot tests/unit/test_vm_fake
TESTS += tests/unit/test_vm tests/unit/test_layer tests/unit/test_boot tests/unit/test_vm_fake
tests_unit_test_vm_SOURCES = tests/unit/test_vm.c
tests_unit_test_vm_CFLAGS = $(UNIT_CFLAGS) -DTEST_DATA='"$(abs_srcdir)/tests/unit"'
tests_unit_test_vm_LDADD = $(VM_TEST_LIBS)
tests_unit_test_vm_fake_SOURCES = tests/unit/test_vm_fake.c
tests_unit_test_vm_fake_CFLAGS = $(UNIT_CFLAGS) -DTEST_PROGRAMS='"$(abs_builddir)"'
tests_unit_test_vm_fake_LDADD = $(VM_TEST_LIBS)
tests_unit_test_layer_SOURCES = tests/unit/test_layer.c
tests_unit_test_layer_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_layer_LDADD = $(VM_TEST_LIBS)
tests_unit_test_boot_SOURCES = tests/unit/test_boot.c
tests_unit_test_boot_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_boot_LDADD = $(VM_TEST_LIBS)

# hutch-qemu with another program than QEMU and with walls that can be left out, and that program.
check_PROGRAMS += tests/unit/hutch-qemu-test tests/unit/confine_probe tests/unit/test_confine
TESTS += tests/unit/test_confine
tests_unit_hutch_qemu_test_SOURCES = $(hutch_qemu_SOURCES)
tests_unit_hutch_qemu_test_CFLAGS = $(AM_CFLAGS) $(SECCOMP_CFLAGS) -DCAGE_TEST
tests_unit_hutch_qemu_test_LDADD = $(hutch_qemu_LDADD)
tests_unit_confine_probe_SOURCES = tests/unit/confine_probe.c
tests_unit_test_confine_SOURCES = tests/unit/test_confine.c src/vm/cage.c src/vm/cage_apply.c
tests_unit_test_confine_CFLAGS = $(UNIT_CFLAGS) -DTEST_PROGRAMS='"$(abs_builddir)/tests/unit"'
tests_unit_test_confine_LDADD = libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
