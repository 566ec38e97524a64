#!/bin/bash
# gdr_sim as its user runs it: same bytes for the same command, right JSON, exit codes.
set -euo pipefail

SIM=$GDR_BUILDDIR/gdr_sim
CLUSTERS=$GDR_SRCDIR/tools/sim/clusters
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

die() {
    echo "NOT OK: $*"
    exit 1
}

# expect STATUS TEXT ARGUMENT...: the exit status, and a line of the output that holds TEXT
expect() {
    local status=$1 text=$2 rc=0

    shift 2
    "$SIM" "$@" >"$WORK/out" 2>&1 || rc=$?
    [ $rc = "$status" ] || die "gdr_sim $*: exit status $rc instead of $status: $(cat "$WORK/out")"
    grep -qF -e "$text" "$WORK/out" || die "gdr_sim $*: no \"$text\" in: $(cat "$WORK/out")"
}

point=(--cluster "$CLUSTERS/a100-4x200g" --nodes 1:4 --size 8:1M --algorithm all)
expect 0 hierarchical "${point[@]}" --json "$WORK/first"
cp "$WORK/out" "$WORK/table"
grep -qE '^# auto takes at most [0-9.]+ x the best time: ' "$WORK/table" ||
    die "no word on the choice"
expect 0 hierarchical "${point[@]}" --json "$WORK/second" --plot "$WORK/plots"
cmp "$WORK/first" "$WORK/second"
cmp "$WORK/table" "$WORK/out"
for file in busbw-nodes busbw-size-1 busbw-size-2 busbw-size-4; do
    [ -s "$WORK/plots/$file.svg" ] || die "no $file.svg"
done
python3 - "$WORK/first" <<'EOF' || die "the JSON is wrong"
import json, sys
rows = json.load(open(sys.argv[1]))
assert {row["nodes"] for row in rows} == {1, 2, 4}
assert {row["bytes"] for row in rows} == {8 << i for i in range(18)}
for row in rows:
    assert row["cluster"] == "a100-4x200g" and row["gpus_per_node"] == 8
    if row["algorithm"] is not None:
        assert row["wanted"] in ("auto", row["algorithm"])
        assert row["ns"] >= row["bound_ns"] > 0 and row["first_ns"] <= row["ns"]
        ranks = row["nodes"] * 8
        assert abs(row["busbw"] - row["bytes"] / row["ns"] * 2 * (ranks - 1) / ranks) < 1e-4
assert any(row["algorithm"] is None for row in rows)
EOF

expect 0 "num_ranks 8" --cluster "$CLUSTERS/h200-8x400g" --size 1K --goal /dev/stdout
expect 0 "usage: gdr_sim" --help
expect 2 "unknown option" --fast
expect 2 "name a file, or one of the clusters" --cluster no-such
expect 2 "a node of pcie-1nic has 4" --cluster "$CLUSTERS/pcie-1nic" --gpus-per-node 5
expect 1 "/nowhere/x: No such file" --cluster "$CLUSTERS/pcie-1nic" --json /nowhere/x
expect 1 "/nowhere/x: No such file" --cluster "$CLUSTERS/pcie-1nic" --size 8 --goal /nowhere/x
expect 1 "/nowhere/x: No such file" --cluster "$CLUSTERS/pcie-1nic" --size 8 --plot /nowhere/x
expect 1 "cannot be written" --cluster "$CLUSTERS/pcie-1nic" --size 8 --json /dev/full
echo "gdr_sim's command line does what it says"
