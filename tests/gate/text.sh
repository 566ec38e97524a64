#!/bin/bash
# What every source file must be: below 500 lines, below 101 columns, without markers of unfinished
# work. Names every breach and exits 1.
#   tests/gate/text.sh [SOURCE-DIRECTORY]
set -euo pipefail

SRC=${1:-${GDR_SRCDIR:-.}}
cd "$SRC"
STATUS=0

report() {
    local text=$1 found

    found=$(cat)
    [ -n "$found" ] || return 0
    printf '%s\n' "$found" | sed "s|^|BREACH: |; s|\$|: $text|"
    STATUS=1
}

files() {
    find coll_gdr ucx_glue cuda_emu tools examples tests scripts quickstart m4 docs ./*.md \
        -type f ! -path 'm4/lt*' ! -name libtool.m4 \( -name '*.[ch]' -o -name '*.cu' \
        -o -name '*.cc' -o -name '*.cuh' -o -name '*.sh' -o -name '*.mk' -o -name '*.m4' \
        -o -name '*.py' -o -name '*.awk' -o -name quickstart -o -name run \) | LC_ALL=C sort
}

# shellcheck disable=SC2046 # names without blanks
set -- $(files)

# shellcheck disable=SC2094
report "more than 500 lines: split it by concern" < <(
    awk 'FNR == 501 { print FILENAME }' "$@")
report "more than 100 columns" < <(
    awk 'length($0) > 100 { print FILENAME ":" FNR }' "$@" | grep -vE '\.(m4|mk):' || true)
# in two pieces, so that this file does not name itself
report "a marker of unfinished work" < <(
    grep -HnwoE 'TO''DO|FIX''ME|XX''X|HA''CK' "$@" || true)
report "a blank at the end of the line" < <(grep -HnoE '[[:blank:]]+$' "$@" | cut -d: -f1,2 || true)
report "a tab in C source" < <(grep -HnP '^ *\t' "$@" | grep -E '^[^:]*\.(c|h|cu|cc|cuh):' |
    cut -d: -f1,2 || true)

[ $STATUS != 0 ] || echo "$# files hold to the style"
exit $STATUS
