# tests/osu: OSU's benchmarks, as far as a user has built some: GDR_OSU_DIR=DIR make check
dist_check_SCRIPTS += tests/osu/run
if !GDR_SANITIZED
TESTS += tests/osu/run
endif
