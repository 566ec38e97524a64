#!/bin/bash
# Process 1 of a guest. From the kernel's command line: ID (1 or 2), TEST (a script of this folder),
# TOP (the source tree), NETDEV (what soft RoCE runs on). /run/job is shared with the other guest.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root ID TOP TEST
job=/run/job

hostname g$ID
printf '127.0.0.1 localhost\n10.0.0.1 g1\n10.0.0.2 g2\n' >/etc/hosts
ulimit -l unlimited
ip link set lo up
if [ "$NETDEV" != lo ]; then
    ip link set "$NETDEV" mtu 4200 # room for RoCE's largest packets
    ip addr add "10.0.0.$ID/24" dev "$NETDEV"
    ip link set "$NETDEV" up
fi
rdma link add rxe0 type rxe netdev "$NETDEV"
echo "guest $ID is up: $(uname -r), $(nproc) processors, $(rdma link show)"
echo >$job/up$ID

# Runs what guest 1 puts into the shared directory: stands in for sshd.
serve() {
    local n=0

    while [ ! -e $job/done1 ]; do
        if [ -e $job/command ]; then
            n=$((n + 1))
            mv $job/command $job/running.$n
            bash $job/running.$n </dev/null >$job/output.$n 2>&1 &
        fi
        sleep 0.2
    done
}

if [ "$ID" = 1 ]; then
    bash "$TOP/tests/rdma/$TEST" </dev/null >$job/out 2>&1
    echo "exit status $?" >$job/done1
else
    serve
fi
sync
echo 1 >/proc/sys/kernel/sysrq
echo o >/proc/sysrq-trigger
sleep 60
