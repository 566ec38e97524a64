"""mpi4py on arrays in device memory.

  mpi4py_arrays.py [others]       others: also collectives other than allreduce
"""

import sys

from mpi4py import MPI

from device_array import DeviceArray, FORMATS

COMM = MPI.COMM_WORLD
RANK, RANKS = COMM.rank, COMM.size
COUNT = 1000
FAILED = []


def check(what, got, expected):
    if got != expected:
        wrong = [i for i, (a, b) in enumerate(zip(got, expected)) if a != b]
        FAILED.append(what)
        print(f"FAIL: rank {RANK}: {what}: {len(wrong)} of {len(expected)} wrong, at {wrong[:3]}",
              flush=True)


def values(typestr, rank):
    """Small enough for the sum of 8 ranks in 8 bits."""
    if typestr == "|b1":
        return [(i + rank) % 3 == 0 for i in range(COUNT)]
    return [(i + rank) % 13 for i in range(COUNT * len(FORMATS[typestr]))]


def over_ranks(typestr, function):
    return [function(column) for column in zip(*(values(typestr, r) for r in range(RANKS)))]


def reductions(typestr):
    if typestr == "|b1":
        return [(MPI.LOR, any), (MPI.LAND, all)]
    if len(FORMATS[typestr]) == 2:
        return [(MPI.SUM, sum)]
    return [(MPI.SUM, sum), (MPI.MAX, max), (MPI.MIN, min)]


def allreduces(typestr, managed):
    for number, (op, function) in enumerate(reductions(typestr)):
        what = f"{typestr}, operation {number}{', managed' if managed else ''}"
        expected = over_ranks(typestr, function)
        send = DeviceArray(typestr, values(typestr, RANK), managed)
        recv = DeviceArray(typestr, values(typestr, RANK), managed)
        COMM.Allreduce(send, recv, op)
        check(f"Allreduce, {what}", recv.values(), expected)
        COMM.Allreduce(MPI.IN_PLACE, send, op)
        check(f"Allreduce in place, {what}", send.values(), expected)
        send = DeviceArray(typestr, values(typestr, RANK), managed)
        recv = DeviceArray(typestr, values(typestr, 7), managed)
        COMM.Iallreduce(send, recv, op).Wait()
        check(f"Iallreduce, {what}", recv.values(), expected)


def several_at_once():
    send = [DeviceArray("<i4", values("<i4", RANK + k)) for k in range(6)]
    recv = [DeviceArray("<i4", values("<i4", 0)) for _ in range(6)]
    requests = [COMM.Iallreduce(s, r, MPI.SUM) for s, r in zip(send, recv)]
    MPI.Request.Waitall(requests[::-1])
    for k in range(6):
        expected = [sum((i + r + k) % 13 for r in range(RANKS)) for i in range(COUNT)]
        check(f"{k} of 6 Iallreduce at once", recv[k].values(), expected)


def user_operation():
    """Associative, not commutative: the left operand, so in the end rank 0's."""
    def combine(left, right, _):
        memoryview(right).cast("B")[:] = memoryview(left).cast("B")

    op = MPI.Op.Create(combine, commute=False)
    send = DeviceArray("<i4", values("<i4", RANK))
    recv = DeviceArray("<i4", values("<i4", RANK))
    COMM.Allreduce(send, recv, op)
    check("Allreduce with an operation in Python", recv.values(), values("<i4", 0))
    op.Free()


def others():
    data = DeviceArray("<f8", values("<f8", RANK))
    COMM.Bcast(data, root=RANKS - 1)
    check("Bcast", data.values(), [float(x) for x in values("<f8", RANKS - 1)])
    send = DeviceArray("<i4", values("<i4", RANK))
    recv = DeviceArray("<i4", [0] * (COUNT * RANKS))
    COMM.Allgather(send, recv)
    check("Allgather", recv.values(), [x for r in range(RANKS) for x in values("<i4", r)])
    COMM.Reduce(send, data := DeviceArray("<i4", [0] * COUNT), MPI.SUM, root=0)
    if RANK == 0:
        check("Reduce", data.values(), over_ranks("<i4", sum))


def main():
    for typestr in FORMATS:
        allreduces(typestr, managed=False)
    allreduces("<f4", managed=True)
    several_at_once()
    user_operation()
    if "others" in sys.argv[1:]:
        others()
    failed = COMM.allreduce(len(FAILED))
    if RANK == 0:
        print("mpi4py: all right" if failed == 0 else f"mpi4py: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
