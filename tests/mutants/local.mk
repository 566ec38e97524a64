# planted faults, and the driver that shows that each is noticed
EXTRA_DIST += tests/mutants
.PHONY: mutants
mutants: all
	$(AM_TESTS_ENVIRONMENT) python3 $(srcdir)/tests/mutants/run.py $(MUTANTS)
