"""The column-parallel step of nccl_benchmark in PyTorch: a Function whose backward starts the all-reduce of dx and
makes dw beside it, float16, a process a GPU. Prints the median time of a step for nccl_benchmark's sizes.

    torchrun --nproc-per-node 2 benchmarks/runtime/torch_column_step.py
"""
import os
import statistics
import time

import torch
import torch.distributed as dist


class ColumnLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = dy @ w.t()
        work = dist.all_reduce(dx, async_op=True)
        dw = x.t() @ dy
        work.wait()
        return dx, dw


def measure(tokens, features_in, features_out, rounds=15, repeats=20):
    shard = features_out // dist.get_world_size()
    x, w, dy = (torch.rand(shape, device="cuda").half() for shape in
                ((tokens, features_in), (features_in, shard), (tokens, shard)))
    times = []
    for round_number in range(rounds + 1):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            x.requires_grad_()
            w.requires_grad_()
            ColumnLinear.apply(x, w).backward(dy)
            x.grad = w.grad = None
        torch.cuda.synchronize()
        if round_number > 0:  # the first warms up
            times.append((time.perf_counter() - start) / repeats)
    return statistics.median(times)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    for tokens, features_in, features_out in ((2048, 4096, 4096), (2048, 4096, 8192), (8192, 8192, 28672)):
        seconds = measure(tokens, features_in, features_out)
        if dist.get_rank() == 0:
            print(f"torch {torch.__version__} autograd step {tokens} {features_in}->{features_out} "
                  f"tp {dist.get_world_size()}: {seconds * 1e6:.1f} us", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
