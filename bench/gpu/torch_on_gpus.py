"""PyTorch's own NCCL backend with Xylem in NCCL's place: two ranks, which may share a GPU.

    NCCL_MULTI_RANK_GPU_ENABLE=1 LD_PRELOAD=.../as-nccl-gpu/libnccl.so.2 python3 torch_on_gpus.py

Checks an all-reduce, an all-gather, an all-to-all, a message, and the gradients of a distributed model; exit status 0: all are right.
"""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank, ranks):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    ones = torch.full((1 << 20,), float(rank + 1), device="cuda")
    dist.all_reduce(ones)
    assert ones.eq(ranks * (ranks + 1) / 2).all()
    parts = [torch.empty(1000, device="cuda", dtype=torch.bfloat16) for _ in range(ranks)]
    dist.all_gather(parts, torch.full((1000,), float(rank), device="cuda", dtype=torch.bfloat16))
    assert all(part.eq(i).all() for i, part in enumerate(parts))
    received = torch.empty(ranks, device="cuda")
    dist.all_to_all_single(received, torch.arange(ranks, device="cuda") + 10.0 * rank)
    assert received.eq(torch.arange(ranks, device="cuda") * 10.0 + rank).all()
    message = torch.full((5000,), 7.0, device="cuda")
    if rank == 0:
        dist.send(message, 1)
    elif rank == 1:
        dist.recv(message.zero_(), 0)
    assert message.eq(7).all()
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda())
    for _ in range(3):
        model(torch.randn(8, 512, device="cuda")).sum().backward()
    gradient = model.module.weight.grad.clone()
    dist.all_reduce(gradient)
    assert torch.allclose(gradient / ranks, model.module.weight.grad, rtol=1e-5)
    if rank == 0:
        print(f"PyTorch {torch.__version__}, {ranks} ranks on {torch.cuda.device_count()} GPUs: all right", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, (2,), 2)
