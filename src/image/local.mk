noinst_LIBRARIES += libimage.a
libimage_a_SOURCES = %D%/image.h %D%/base.c %D%/build.c
