"""NCCL's allreduce with several ranks on one card, by PyTorch, where it takes them: most releases
of NCCL refuse. nccl.py RANKS [LARGEST-SIZE]: a line a size, or one that says why not."""
import os
import sys
import tempfile
import time


def rank_main(rank, ranks, largest, meeting):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method="file://" + meeting, rank=rank, world_size=ranks)
    size = 8
    while size <= largest:
        data = torch.zeros(size // 4, device="cuda")
        times = []
        for i in range(24):
            dist.barrier()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            dist.all_reduce(data)
            torch.cuda.synchronize()
            if i >= 4:
                times.append(time.perf_counter() - begin)
        if rank == 0:
            print(size, "bytes:", "%.2f us" % (sum(times) / len(times) * 1e6), flush=True)
        size *= 8
    dist.destroy_process_group()


def main():
    ranks = int(sys.argv[1])
    largest = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 26
    try:
        import torch
        import torch.multiprocessing as processes
        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no card")
    except Exception as error:  # whatever a broken installation throws
        print("not measured:", str(error).split("\n")[0])
        return
    os.environ.setdefault("NCCL_MULTI_RANK_GPU_ENABLE", "1")
    with tempfile.TemporaryDirectory() as directory:
        try:
            processes.spawn(rank_main, (ranks, largest, directory + "/meeting"), nprocs=ranks)
        except Exception as error:
            lines = [line for line in str(error).split("\n") if line.strip()]
            refused = [line for line in lines if "Duplicate GPU" in line]
            print("not measured:", (refused or lines or ["no reason given"])[-1].strip())


if __name__ == "__main__":
    main()
