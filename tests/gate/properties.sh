#!/bin/bash
# tests/PROPERTIES.md must name every planted fault, and nothing that does not exist: neither a
# fault, nor a test that `make check` does not run.
set -euo pipefail

SRC=${GDR_SRCDIR:-.}
PAGE=$SRC/tests/PROPERTIES.md
STATUS=0

breach() {
    echo "BREACH: $*"
    STATUS=1
}

# without what make was told about TESTS
tests=" $(env -u MAKEFLAGS -u MFLAGS make -s -C "${GDR_BUILDDIR:-.}" print-tests | tail -n 1) "
if [[ $tests != *" tests/unit/plan/test_prove "* ]]; then
    echo "this tree is configured without unit tests"
    exit 77
fi
for mutant in "$SRC"/tests/mutants/*.mutant; do
    name=$(basename "$mutant" .mutant)
    grep -qE "[ ,]$name[ ,|]" "$PAGE" || breach "tests/PROPERTIES.md does not name $name"
    named=$(sed -n 's/^test: //p' "$mutant")
    [[ $tests == *" $named "* ]] || breach "$name.mutant: there is no test $named"
done
for name in $(grep '^|' "$PAGE" | grep -oE '(tests|cuda_emu)/[a-z_/.0-9]+' | sort -u); do
    [[ $tests == *" $name "* ]] || breach "tests/PROPERTIES.md: there is no test $name"
done
while read -r name; do
    [ -e "$SRC/tests/mutants/$name.mutant" ] ||
        breach "tests/PROPERTIES.md: there is no fault $name"
done < <(grep '^|' "$PAGE" | awk -F '|' '{ print $4 }' | grep -vE '^ (–.*|planted fault|-*) *$' |
    tr ',' '\n' | tr -d ' ' | grep -v '^-*$')
[ $STATUS != 0 ] || echo "tests/PROPERTIES.md agrees with the tests and the planted faults"
exit $STATUS
