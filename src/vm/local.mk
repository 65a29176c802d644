noinst_LIBRARIES += libvm.a
libvm_a_SOURCES = %D%/vm.h %D%/vm.c %D%/libvirt.c %D%/domain_xml.c %D%/domain_xml.h %D%/fake.c \
	%D%/layer.c %D%/layer.h %D%/boot.c %D%/boot.h
libvm_a_CFLAGS = $(AM_CFLAGS) $(LIBVIRT_CFLAGS) $(JANSSON_CFLAGS)
# The emulator wrapper: confines itself, then becomes QEMU.
pkglibexec_PROGRAMS += hutch-qemu
hutch_qemu_SOURCES = %D%/confine_qemu.c
hutch_qemu_LDADD = libbase.a
