#!/bin/bash
# tests/gpu/pack makes a tree that works elsewhere, here on emulated devices: nothing but the C
# library comes from this machine's Open MPI, PMIx and UCX, all steps run, what hangs is looked at.
. "$(dirname "$0")/../mpi/lib.sh"
[ "${ompi%%.*}" = 4 ] || skip "only Open MPI 4.1 is packed"
command -v strip >/dev/null || skip "there is no strip"
[ -z "${GDR_TEST_GPU:-}" ] || skip "the pack itself runs on a card"

run "pack" 60 "$GDR_SRCDIR/tests/gpu/pack" "$work"
mkdir "$work/else where"
tar -xzf "$work/gpu-pack.tar.gz" -C "$work/else where" || exit 1
place="$work/else where/gpu-pack"
bare=(env -i HOME="$work" PATH=/usr/bin:/bin) # as on a machine that has nothing set
there=("${bare[@]}" "$emu" --sync "$place/run.sh" --emulated)

says "an allreduce, and what it loads" 40 'calling init: .*/gpu-pack/build/.libs/gdr_ucx.so' \
    "${there[@]}" --exec env LD_DEBUG=files mpirun -np 2 gdr_bench allreduce --max 8 --check
strangers=$(grep -o 'calling init: .*' "$work/out" | sort -u | grep -v "$place/" |
    grep -E 'openmpi|libopen-|libmpi|mca_|pmix|hwloc|libuc|libevent')
status=0
if [ -z "$strangers" ]; then pass "nothing of them is this machine's"; else
    fail "loaded from this machine: $strangers"
fi

run "all steps, quickly" 120 "${there[@]}" --quick --out "$work/results of it" --budget 110
report="$work/results of it/measured.md"
for text in "^The driver's copies" "^| 8 | 1024 KiB |" '^2 ranks, mean time' \
    '^| 1K | [0-9.]* | [0-9.]* | gdr/' '^    node_mbs [0-9]'; do
    says "the report has $text" 5 "$text" cat "$report"
done
says "every element was checked" 5 "all .* sizes right on 3 ranks" \
    tar -xzOf "$work/results of it/logs.tar.gz" logs/right-ring.log
refuses "what hangs is looked at" 60 "^-- process .*, gdr_bench, rank 1: " "${bare[@]}" \
    CUDA_EMU_DELAY=3000000 "$emu" "$place/run.sh" --emulated --quick --out "$work/stopped" \
    --budget 6
refuses "a word that means nothing" 5 "run.sh: --fast: unknown option" "$place/run.sh" --fast
finish
