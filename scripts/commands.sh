#!/bin/bash
# Joins the fragments that clang wrote beside its objects into compile_commands.json.
#   scripts/commands.sh CLANG-BUILD-DIRECTORY
set -euo pipefail

cd "$1"
python3 - <<'PYTHON'
import glob, json, os

latest = {}
for path in sorted(glob.glob("commands/*.json"), key=os.path.getmtime):
    with open(path) as fragment:
        entry = json.loads(fragment.read().rstrip().rstrip(","))
    name = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
    if os.path.exists(name) and "conftest" not in name:
        entry["file"] = name
        latest[name] = entry
entries = list(latest.values())
with open("compile_commands.json", "w") as database:
    json.dump(entries, database, indent=1)
for entry in entries: # cppcheck reads no quotes in a definition: any string
    entry["arguments"] = [word.split("=")[0] + "=__FILE__" if '="' in word else word
                          for word in entry["arguments"]]
with open("cppcheck_commands.json", "w") as database:
    json.dump(entries, database, indent=1)
PYTHON
