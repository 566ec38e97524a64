# gates on the structure of the tree
dist_check_SCRIPTS += tests/gate/arrows.sh tests/gate/text.sh tests/gate/gate_test.sh \
	tests/gate/properties.sh
EXTRA_DIST += tests/gate/rooms.sh tests/PROPERTIES.md
TESTS += tests/gate/arrows.sh tests/gate/text.sh tests/gate/properties.sh tests/gate/gate_test.sh
