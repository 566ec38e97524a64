# tests/fuzz: random collectives against a reference of their own
#   make fuzz [CALLS=N]                 100,000 calls on 1 to 9 and 16 ranks
#   make fuzz-replay SEED=S NP=N N=K    the first K calls of one seed again
# and the table of docs/coverage.md, every cell of it run: make docs-coverage
dist_check_SCRIPTS += tests/fuzz/fuzz.sh tests/fuzz/coverage.sh
EXTRA_DIST += tests/fuzz/local.mk docs/coverage.md

if HAVE_CMOCKA
check_PROGRAMS += tests/fuzz/generate_test
TESTS += tests/fuzz/generate_test
tests_fuzz_generate_test_SOURCES = tests/fuzz/generate_test.c tests/fuzz/generate.c \
	tests/fuzz/generate.h tests/fuzz/expect.c tests/fuzz/expect.h
tests_fuzz_generate_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_fuzz_generate_test_LDADD = $(CMOCKA_LIBS)
endif

if !GDR_SANITIZED
TESTS += tests/fuzz/fuzz.sh tests/fuzz/coverage.sh
check_PROGRAMS += tests/fuzz/fuzz tests/fuzz/coverage
fuzz_calls = $(gdr_mpi_harness) tests/mpi/types.c tests/mpi/types.h \
	tests/fuzz/generate.c tests/fuzz/generate.h tests/fuzz/expect.c tests/fuzz/expect.h \
	tests/fuzz/element.c tests/fuzz/element.h tests/fuzz/user_types.c \
	tests/fuzz/user_types.h tests/fuzz/memory.c tests/fuzz/memory.h tests/fuzz/post.c \
	tests/fuzz/call.c tests/fuzz/call.h
tests_fuzz_fuzz_SOURCES = $(fuzz_calls) tests/fuzz/fuzz.c tests/fuzz/requests.c \
	tests/fuzz/requests.h tests/fuzz/disturb.c tests/fuzz/disturb.h
tests_fuzz_fuzz_CPPFLAGS = $(gdr_mpi_cppflags)
tests_fuzz_fuzz_LDFLAGS = $(gdr_mpi_ldflags)
tests_fuzz_fuzz_LDADD = $(gdr_mpi_libs) -lm
tests_fuzz_fuzz_DEPENDENCIES = $(gdr_mpi_cudart)

tests_fuzz_coverage_SOURCES = $(fuzz_calls) tests/fuzz/coverage.c
tests_fuzz_coverage_CPPFLAGS = $(gdr_mpi_cppflags)
tests_fuzz_coverage_LDFLAGS = $(gdr_mpi_ldflags)
tests_fuzz_coverage_LDADD = $(gdr_mpi_libs) -lm
tests_fuzz_coverage_DEPENDENCIES = $(gdr_mpi_cudart)
endif

.PHONY: fuzz fuzz-replay docs-coverage
fuzz: all tests/fuzz/fuzz
	$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/fuzz/fuzz.sh all $(CALLS)
fuzz-replay: all tests/fuzz/fuzz
	$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/fuzz/fuzz.sh replay $(SEED) $(NP) $(N)
docs-coverage: all tests/fuzz/coverage
	$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/fuzz/coverage.sh write
