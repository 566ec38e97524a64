#!/bin/bash
# gdr_tune measures all figures, the component takes them, and what fails is said in one line.
. "$(dirname "$0")/lib.sh"
tune=$GDR_BUILDDIR/gdr_tune
file=$work/tuning

cat >"$work/plausible.py" <<'END'
import json, sys
text = {}
for line in open(sys.argv[1]):
    assert len(line) < 256
    line = line.split("#")[0].split()
    if line:
        text[line[0]] = int(line[1])
report = json.load(open(sys.argv[2]))
figures = {figure["name"]: figure for figure in report["figures"]}
wanted = {"launch_ns", "flag_ns", "memory_mbs"} | {
    link + "_" + what for link in ("net", "node") for what in ("latency_ns", "put_ns", "mbs")}
assert wanted <= set(text) <= set(figures), set(text) ^ wanted
assert report["ranks"] == 4 and report["nodes"] == 2 and report["ucx"][0] in "123456789"
for name, value in text.items():
    figure = figures[name]
    assert 0 < figure["low"] <= figure["value"] <= figure["high"] and figure["ranks"] == 4
    assert abs(value - max(1, figure["value"])) <= 0.51, (name, value, figure)
    # between a CPU's clock and a second, and between a slow disk and a rack of memory
    assert 1 <= value <= 10**9 if name.endswith("_ns") else 1 <= value <= 10**8, (name, value)
assert figures["node_read_mbs"]["ranks"] == 4 # the emulator's devices are mapped
assert figures["launch_cpu_ns"]["value"] <= figures["launch_ns"]["value"]
print(len(text), "figures, all plausible")
END
run "two nodes of two ranks" 60 "$emu" --sync mpirun -np 4 "$tune" --quick --node-size 2 \
    --output "$file" --json "$work/json"
# The root of Debian 13 that scripts/debian13.sh makes has no Python.
! command -v python3 >/dev/null ||
    run "all figures are there" 20 python3 "$work/plausible.py" "$file" "$work/json"

# Under these, whatever they are, one-shot cannot take the 16 us that the defaults predict.
sed -i 's/^node_latency_ns .*/node_latency_ns 1000000/' "$file"
says "the component takes the file" 30 '\* oneshot  *1[0-9][0-9][0-9]\.[0-9] us predicted' "$emu" \
    mpirun -np 2 --mca coll gdr --mca coll_gdr_explain 1 \
    --mca coll_gdr_tuning_file "$file" "$programs/path" -c 1000 gdr/
says "one rank alone: no links" 30 '^# node_mbs [0-9]*: the default; not measured' "$emu" --sync \
    mpirun -np 1 "$tune" --quick
says "three ranks on three nodes" 30 '^net_latency_ns [0-9]' "$emu" --sync mpirun -np 3 "$tune" \
    --quick --node-size 1
says "help" 20 "usage: mpirun -np N gdr_tune" mpirun -np 2 "$tune" --help

cp "$file" "$work/before"
refuses "a file that cannot be made" 30 "gdr_tune: /nowhere/x: No such file" "$emu" --sync \
    mpirun -np 2 "$tune" --quick --output /nowhere/x
refuses "no device" 30 "there is no CUDA device here" "$emu" --devices 0 mpirun -np 2 "$tune" \
    --output "$file"
refuses "a word that means nothing" 30 "gdr_tune: --fast: unknown option" mpirun -np 2 "$tune" \
    --fast
refuses "a device that is too slow: where each rank was" 30 \
    "rank 1: no end in sight; this rank was at: " "$emu" --delay 100000 mpirun -np 2 "$tune" \
    --timeout 3 --output "$file"
only_rank_1 "CUDA_EMU_FAIL=cuMemAlloc:*"
refuses "a rank without memory" 30 "gdr_tune: rank 1: cuMemAlloc" "$emu" mpirun -np 2 \
    "$work/only_rank_1" "$tune" --output "$file"
run "none of them has touched the file" 10 cmp "$file" "$work/before"
finish
