noinst_LIBRARIES += libgrid.a
libgrid_a_SOURCES = \
	%D%/grid.c %D%/grid.h %D%/area.c %D%/dump.c %D%/key.c %D%/key.h

EXTRA_DIST += ui/styles.def
