#!/bin/bash
# Values that no parameter can have: one line, a documented default, no crash.
. "$(dirname "$0")/lib.sh"

# takes_default NAME VALUE
takes_default() {
    execute 40 "$emu" mpirun -np 2 --mca coll gdr --mca "coll_gdr_$1" "$2" "$programs/path" gdr/
    if [ $status -eq 0 ] && [ "$(grep -c "coll_gdr_$1=.*taking the default" "$work/out")" -eq 2 ]
    then
        pass "$1=$2: $(grep -m1 -o "coll_gdr_$1=.*" "$work/out")"
    else
        fail "$1=$2"
    fi
}

takes_default algorithm nonsense
takes_default algorithm "$(printf '%0200d' 7)"
takes_default chunk_size -1
takes_default chunk_size 12x
takes_default window_size 99999999999999999999999
takes_default window_size 1m
takes_default window_size nan
takes_default lane_size 1k
takes_default lane_size 1g
takes_default node_size -2
takes_default tuning_file /nonexistent
takes_default tuning_file /tmp
printf '# figures\n\nnode_mbs 1 # 6000 us for 6000 bytes\n' >"$work/tuning"
says "a tuning file" 40 "oneshot *6015.0 us predicted" "$emu" mpirun -np 2 --mca coll gdr \
    --mca coll_gdr_explain 1 --mca coll_gdr_tuning_file "$work/tuning" "$programs/path" -c 1500 gdr/
for line in "net_mbs" "net_mbs 0" "net_mbs -3" "net_mb 5" "net_mbs 5 6" "net_mbs 9999999999"; do
    echo "$line" >"$work/tuning"
    says "a tuning file with \"$line\"" 40 "line 1 is no figure" "$emu" mpirun -np 1 \
        --mca coll gdr --mca coll_gdr_tuning_file "$work/tuning" "$programs/path" gdr/
done
takes_default staging maybe
takes_default flags both
takes_default stream_waits yes
takes_default mapped yes
takes_default timeout -5
takes_default timeout 1e9
takes_default priority 101
takes_default priority -7
says "ompi_info shows them" 40 'parameter "coll_gdr_window_size"' ompi_info --param coll gdr \
    --level 9
run "an odd chunk size" 40 "$emu" mpirun -np 2 --mca coll gdr --mca coll_gdr_chunk_size 1000 \
    "$programs/path" -c 100000 gdr/
run "the smallest window" 40 "$emu" mpirun -np 2 --mca coll gdr --mca coll_gdr_window_size 4m \
    "$programs/path" gdr/

# The distribution's own UCX, where it is too old: staged, and one line says what to do.
old=$(/sbin/ldconfig -p | sed -n 's/.*libucp\.so\.0 .*=> //p' | head -1)
if [ -n "$old" ] && grep -q '1\.1[0-7]\.' "$old"; then
    says "a UCX that is too old" 30 "coll_gdr_ucx_lib.*LD_LIBRARY_PATH" \
        env LD_LIBRARY_PATH= "$emu" mpirun -np 2 --mca pml ob1 --mca osc ^ucx --mca btl ^uct \
        --mca coll gdr --mca coll_gdr_ucx_lib "$old" "$programs/path" staged
fi
finish
