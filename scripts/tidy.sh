#!/bin/bash
# clang-tidy on every C file of the tree, with the flags that clang built it with; findings are
# errors (.clang-tidy).
#   scripts/tidy.sh CLANG-BUILD-DIRECTORY [JOBS]
set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$TOP/scripts/commands.sh" "$1"
cd "$1"
python3 -c 'import json
for entry in json.load(open("compile_commands.json")):
    print(entry["file"])' |
    grep "^$TOP/.*\.c\$" | grep -v "^$PWD/" | LC_ALL=C sort |
    xargs -r -P "${2:-2}" -n 4 clang-tidy --quiet -p .
