#!/bin/bash
# cppcheck on every file that clang compiled; findings are errors. It knows neither clang's
# predefined macros, so #error lines mean nothing, nor cmocka's assertions, so a pointer that a test
# has checked is still NULL to it across files.
#   scripts/cppcheck.sh CLANG-BUILD-DIRECTORY [JOBS]
set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$TOP/scripts/commands.sh" "$1"
mkdir -p "$1/cppcheck"
cppcheck --quiet --project="$1/cppcheck_commands.json" --cppcheck-build-dir="$1/cppcheck" \
    -j "${2:-2}" --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
    --suppress=missingInclude --suppress=preprocessorErrorDirective --suppress=ctunullpointer \
    --suppress='*:/usr/*' --suppress="*:$1/*" --std=c11
