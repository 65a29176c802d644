noinst_LIBRARIES += libapproval.a
libapproval_a_SOURCES = %D%/approval.c %D%/approval.h %D%/approval_internal.h %D%/batch.c %D%/list.c %D%/quota.c \
	%D%/reopen.c %D%/request.c %D%/request.h
libapproval_a_CFLAGS = $(AM_CFLAGS)

check_PROGRAMS += tests/unit/test_approval
TESTS += tests/unit/test_approval
tests_unit_test_approval_SOURCES = tests/unit/test_approval.c tests/unit/approval_world.h
tests_unit_test_approval_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_approval_LDADD = libapproval.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_approval_batch
TESTS += tests/unit/test_approval_batch
tests_unit_test_approval_batch_SOURCES = tests/unit/test_approval_batch.c tests/unit/approval_world.h
tests_unit_test_approval_batch_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_approval_batch_LDADD = libapproval.a libbase.a $(CRYPTO_LIBS) $(CMOCKA_LIBS)
