#!/bin/bash
# Boots one or two emulated machines on this machine's root (read-only) with soft RoCE, and runs a
# script of this folder in the first. Prints what the script prints; its exit status.
#   boot.sh WORK 1|2 SCRIPT      WORK/kernel: of kernel.sh
# Environment: GDR_RDMA_BOOT, GDR_RDMA_LIMIT: seconds until the machines are up, and for all of it.
set -uo pipefail

work=$1
guests=$2
script=$3
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
job=$work/job
boot_limit=${GDR_RDMA_BOOT:-240}
limit=${GDR_RDMA_LIMIT:-1800}
processors=$(($(nproc) / guests))
[ $processors -le 2 ] || processors=2
[ $processors -ge 1 ] || processors=1
pids=()

share() { # TAG PATH OPTIONS
    echo "-fsdev local,id=$1,path=$2,security_model=none,multidevs=remap$3" \
        "-device virtio-9p-pci,fsdev=$1,mount_tag=$1"
}

boot() { # ID NETDEV NETWORK
    # shellcheck disable=SC2046,SC2086 # lists; the build's path has no blanks
    timeout -k 5 "$limit" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max \
        -smp $processors -m 2048 -nodefaults -no-reboot -display none -serial stdio \
        -kernel "$work/kernel/vmlinux" -initrd "$work/kernel/initrd.gz" \
        -append "console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check \
random.trust_cpu=on ID=$1 NETDEV=$2 TOP=$top TEST=$script" \
        $(share host / ,readonly=on) $(share top "$top" ,readonly=on) $(share job "$job" "") \
        -netdev $3 -device virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:00:00:0$1 \
        </dev/null >"$work/console$1.log" 2>&1 &
    pids+=($!)
}

stop() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    pids=()
}
trap stop EXIT

# Whether all machines that were started still are.
running() {
    local pid

    for pid in "${pids[@]}"; do
        kill -0 "$pid" 2>/dev/null || return
    done
}

# Waits until FILE is there: await SECONDS FILE
await() {
    local end=$((SECONDS + $1))

    while [ ! -e "$2" ] && [ $SECONDS -lt $end ] && running; do
        sleep 0.5
    done
    [ -e "$2" ]
}

start() {
    local guest link=addr.type=unix,addr.path=$work/link # TCP would add 25 ms a round trip

    rm -rf "$job" "$work/link"
    mkdir -p "$job"
    cp "$here/guest.sh" "$here/rsh.sh" "$job/"
    : >"$job/out"
    if [ "$guests" = 1 ]; then
        boot 1 lo user,id=n0,restrict=on
    else
        boot 1 eth0 stream,id=n0,server=on,$link
        await 20 "$work/link" || return
        boot 2 eth0 stream,id=n0,server=off,$link
    fi
    for ((guest = 1; guest <= guests; guest++)); do
        await "$boot_limit" "$job/up$guest" || return
    done
}

broken() {
    local guest

    echo "FAIL: $1; the ends of the consoles:"
    for ((guest = 1; guest <= guests; guest++)); do
        tail -n 20 "$work/console$guest.log" | sed "s/^/    $guest: /"
    done
    exit 1
}

if ! start; then
    stop # an emulated machine on a busy one may not survive its first seconds
    start || broken "the emulated machines are not up after $boot_limit s"
fi
tail -n +1 --pid="${pids[0]}" -f "$job/out" &
await "$limit" "$job/done1" || broken "$script did not end within $limit s"
sleep 1 # the last lines
grep -q '^exit status 0$' "$job/done1"
