"""Xylem as a back-end of torch.distributed, for tensors of the CPU.

    import torch.distributed as dist
    import xylem.torch
    dist.init_process_group("xylem")

It takes gloo's place, but for what docs/pytorch.md lists: in DistributedDataParallel, sub-groups, torchrun. Importing it also makes
torch take tensors from 1 MiB on from memory that ranks of one host can share, so that gradients are reduced in place,
without copies; `share_memory` turns that off.
"""

import os

import torch.distributed as _dist
from torch import Tensor as _Tensor

from . import _backend

ProcessGroupXylem = _backend.ProcessGroupXylem

__all__ = ["ProcessGroupXylem", "is_shared", "share_memory"]


def share_memory(use: bool = True) -> bool:
    """Sets whether new tensors can be shared with other ranks of the host; returns the previous setting."""
    if not isinstance(use, bool):
        raise TypeError(f"share_memory: found {use!r:.60}; expected True or False")
    before = _backend.uses_shared_memory()
    _backend.use_shared_memory(use)
    return before


def is_shared(tensor) -> bool:
    """Whether other ranks of this host can map the tensor's memory: true once an operation has used all of it."""
    if not isinstance(tensor, _Tensor):
        raise TypeError(f"is_shared: found {tensor!r:.60}; expected a tensor")
    return _backend.is_exposed(tensor.data_ptr())


def _create(store, rank, size, timeout):
    # A subset of the ranks cannot tell which other ranks are on their host, and may meet them later in other groups.
    if _dist.is_initialized() and size < _dist.get_world_size() and "LOCAL_RANK" not in os.environ:
        _backend.set_device(_dist.get_rank(), _dist.get_world_size())
    return ProcessGroupXylem(store, rank, size, timeout)


_backend.install_allocator()
if not hasattr(_dist.Backend, "XYLEM"):
    _dist.Backend.register_backend("xylem", _create)
