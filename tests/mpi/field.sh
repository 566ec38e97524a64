#!/bin/bash
# What goes wrong for people who run GPU collectives through MPI: small inputs from public bug
# reports, each a case of its own.
#   field.sh [CASE...]     all of them, or those whose names begin so: field.sh case_03
#   field.sh --list
. "$(dirname "$0")/lib.sh"
gdr=(--mca coll gdr)
allow=("${gdr[@]}" --mca coll_gdr_staging allow)

case_01_who_is_chosen() {
    run "--mca coll gdr alone" 60 "$emu" mpirun -np 2 "${gdr[@]}" "$programs/path" gdr/
    run "priority 0" 60 "$emu" mpirun -np 2 --mca coll_gdr_priority 0 "$programs/path" -h ""
    run "no flag at all" 60 "$emu" mpirun -np 2 "$programs/path" gdr/
}

case_02_very_first_call() {
    run "Allreduce" 60 "$emu" mpirun -np 2 "${gdr[@]}" "$programs/path" gdr/
    run "Iallreduce and Wait" 60 "$emu" mpirun -np 2 "${gdr[@]}" "$programs/path" -i gdr/
}

case_03_in_place() {
    run "minimum of three doubles" 60 "$emu" mpirun -np 3 "${gdr[@]}" "$programs/cases" \
        min_in_place
    run "16 ranks, 1 Mi int" 240 "$emu" mpirun -np 16 "${gdr[@]}" "$programs/cases" large
}

case_04_odd_counts_and_guards() {
    run "1 to 1025 int" 60 "$emu" mpirun -np 3 "${gdr[@]}" "$programs/cases" odd_counts
}

case_05_count_zero() {
    run "NULL and device pointers" 60 "$emu" mpirun -np 2 "${gdr[@]}" "$programs/cases" count_zero
}

case_06_allocated_and_freed() {
    run "100 times, memory is given back" 120 "$emu" mpirun -np 2 "${gdr[@]}" "$programs/cases" \
        alloc_loop
}

case_07_streams_see_the_order() {
    run "1000 times behind a pageable copy" 120 "$emu" mpirun -np 2 "${gdr[@]}" \
        "$programs/cases" ordering
    run "and with slow copies" 240 "$emu" --delay 100 mpirun -np 2 "${gdr[@]}" \
        "$programs/cases" ordering
}

case_08_kinds_of_memory() {
    prints "managed, pool, VMM, interior: silent" 60 "28 checks, 0 failed" "$emu" mpirun -np 2 \
        "${gdr[@]}" "$programs/field" memory_kinds
}

case_09_host_and_device_in_one_call() {
    run "send on the device, receive on the host, and the reverse" 60 "$emu" mpirun -np 2 \
        "${gdr[@]}" "$programs/field" device_and_host
    run "rank 0 on the device, rank 1 on the host" 60 "$emu" mpirun -np 2 "${allow[@]}" \
        "$programs/field" device_beside_host
}

case_10_what_the_device_lacks() {
    run "MINLOC of DOUBLE_INT" 60 "$emu" mpirun -np 2 "${gdr[@]}" "$programs/field" \
        least_and_where
    run "long double; a user's operation on a vector with holes" 60 "$emu" mpirun -np 2 \
        "${allow[@]}" "$programs/cases" long_double user_ops
    only_rank_1 "CUDA_EMU_FAIL=cuModuleLoadData:*"
    run "one rank declines" 60 "$emu" mpirun -np 3 "${allow[@]}" "$work/only_rank_1" \
        "$programs/cases" odd_counts
}

case_11_same_bits() {
    for algorithm in twoshot ring; do
        run "cancelling floats, one NaN, $algorithm" 100 "$emu" mpirun -np 4 "${gdr[@]}" \
            --mca coll_gdr_algorithm $algorithm "$programs/cases" same_bits one_nan
    done
}

case_12_threads_and_current_device() {
    run "4 threads, a communicator each, no cudaSetDevice" 120 "$emu" mpirun -np 2 "${gdr[@]}" \
        "$programs/threads"
    run "a pointer of device 1 while device 0 is current" 60 "$emu" mpirun -np 2 "${gdr[@]}" \
        "$programs/cases" other_device
    run "which was filled just before" 60 "$emu" --delay 300 mpirun -np 2 "${allow[@]}" \
        "$programs/devices" copies_from_elsewhere
}

case_13_ranks_and_devices() {
    run "4 ranks on one device, 4 B to 64 MiB" 240 "$emu" --devices 1 mpirun -np 4 "${gdr[@]}" \
        "$programs/cases" sizes
    cat >"$work/own_device" <<'SCRIPT'
#!/bin/sh
export CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK
exec "$@"
SCRIPT
    chmod +x "$work/own_device"
    run "another CUDA_VISIBLE_DEVICES on each rank" 120 "$emu" --devices 4 mpirun -np 4 \
        "${gdr[@]}" "$work/own_device" "$programs/cases" odd_counts large
}

case_14_reset_or_no_device() {
    prints "cudaDeviceReset before MPI_Finalize" 60 "2 checks, 0 failed" "$emu" mpirun -np 2 \
        "${gdr[@]}" "$programs/cases" device_reset
    prints "a program without CUDA" 60 "host ok" "$emu" mpirun -np 2 "${gdr[@]}" "$programs/host"
    prints "no libcuda" 60 "host ok" mpirun -np 2 "${gdr[@]}" "$programs/host"
    prints "a libcuda that finds no device" 60 "host ok" "$emu" --devices 0 mpirun -np 2 \
        "${gdr[@]}" "$programs/host"
}

case_15_nonblocking_left_alone() {
    run "never tested during 2 s of other MPI calls" 100 "$emu" mpirun -np 2 "${allow[@]}" \
        "$programs/async" other_mpi_calls
    run "eight outstanding, waited for in reverse" 60 "$emu" mpirun -np 2 "${allow[@]}" \
        "$programs/async" reverse
}

case_16_shared_and_left_communicators() {
    run "two threads' nonblocking calls on one duplicate" 100 "$emu" mpirun -np 2 "${gdr[@]}" \
        "$programs/threads"
    run "splits that leave ranks out, freed" 100 "$emu" mpirun -np 3 "${gdr[@]}" \
        "$programs/cases" communicators many_communicators
    prints "one left to MPI_Finalize" 60 "6 checks, 0 failed" "$emu" mpirun -np 3 "${gdr[@]}" \
        "$programs/cases" leaked_communicator
}

all=$(declare -F | sed -n 's/^declare -f \(case_[0-9][0-9]_.*\)/\1/p')
if [ "${1-}" = --list ]; then
    echo "$all"
    exit
fi
for case in $all; do
    wanted=$([ $# -gt 0 ] || echo yes)
    for prefix; do
        case $case in "$prefix"*) wanted=yes ;; esac
    done
    if [ -n "$wanted" ]; then
        echo "$case"
        "$case"
    fi
done
finish
