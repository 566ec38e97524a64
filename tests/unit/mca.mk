# Unit tests of the mca room: its one file without MPI.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/mca/test_areas
TESTS += tests/unit/mca/test_areas
endif

tests_unit_mca_test_areas_SOURCES = tests/unit/mca/test_areas.c coll_gdr/mca/areas.c \
	coll_gdr/mca/areas.h
tests_unit_mca_test_areas_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mca_test_areas_LDADD = $(CMOCKA_LIBS)
