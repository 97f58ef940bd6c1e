"""A rank as torchrun starts it: everything comes from the environment."""

import torch
import torch.distributed as dist
import xylem.torch  # noqa: F401

dist.init_process_group("xylem")
tensor = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(tensor)
print(f"rank {dist.get_rank()}: {tensor.item()}", flush=True)
dist.destroy_process_group()
