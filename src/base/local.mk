noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/alloc.c %D%/alloc.h %D%/cleanup.h \
	%D%/error.c %D%/error.h %D%/error.def \
	%D%/log.c %D%/log.h %D%/buf.c %D%/buf.h \
	%D%/fd.c %D%/fd.h %D%/file.c %D%/file_hash.c %D%/file.h \
	%D%/paths.c %D%/paths.h %D%/text.c %D%/text.h %D%/unicode.h \
	%D%/units.c %D%/units.h %D%/spawn.c %D%/spawn.h %D%/landlock.c %D%/landlock.h
