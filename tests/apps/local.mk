# tests/apps: programs of others, run by ./quickstart check
EXTRA_DIST += tests/apps/local.mk tests/apps/run tests/apps/device_array.py \
	tests/apps/mpi4py_arrays.py
