#!/bin/bash
# cppcheck on every file that clang compiled; findings are errors.
#   scripts/cppcheck.sh CLANG-BUILD-DIRECTORY [JOBS]
set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$TOP/scripts/commands.sh" "$1"
mkdir -p "$1/cppcheck"
cppcheck --quiet --project="$1/compile_commands.json" --cppcheck-build-dir="$1/cppcheck" \
    -j "${2:-2}" --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
    --suppress=missingInclude --suppress='*:/usr/*' --suppress="*:$1/*" --std=c11
