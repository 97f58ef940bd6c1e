"""Ranks for tests of the back-end: processes forked from the test, which has imported torch already.

    run(4, check)           # check(rank, size) in four processes that have a group of each back-end
"""

import contextlib
import multiprocessing
import os
import tempfile
import traceback
import warnings
from datetime import timedelta

import torch
import torch.distributed as dist

import xylem.torch  # noqa: F401  registers the back-end

# Seconds for a whole job, on a busy machine.
LONGEST = 120
_fork = multiprocessing.get_context("fork")


def _rank(body, rank, size, init):
    try:
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")  # torch's functions that change when the package is imported
        body(rank, size, init)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def start(size, body, init=None):
    """Runs body(rank, size, init) in `size` processes; their exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        where = init or f"file://{folder}/store"
        ranks = [_fork.Process(target=_rank, args=(body, rank, size, where)) for rank in range(size)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(LONGEST)
        for process in ranks:
            if process.is_alive():
                process.kill()
                process.join()
        return [process.exitcode for process in ranks]


@contextlib.contextmanager
def group(backend, rank, size, init, seconds=60):
    """The default group of this rank, for a while."""
    dist.init_process_group(backend, init_method=init, rank=rank, world_size=size, timeout=timedelta(seconds=seconds))
    try:
        yield dist.group.WORLD
    finally:
        dist.destroy_process_group()


def run(size, check):
    """Runs check(rank, size, gloo, ours) on groups of both back-ends."""

    def body(rank, size, init):
        with group("gloo", rank, size, init) as gloo:
            ours = dist.new_group(backend="xylem", timeout=timedelta(seconds=60))
            check(rank, size, gloo, ours)
            dist.barrier(group=gloo)

    codes = start(size, body)
    assert codes == [0] * size, f"ranks ended with {codes}"


def inputs(rank, shape, dtype, salt=0):
    """Numbers of a rank that every other rank can compute, too: small, so that sums are exact in all types."""
    generator = torch.Generator().manual_seed(1000 * salt + rank)
    values = torch.randint(0 if dtype in (torch.uint8, torch.bool) else -3, 4, shape, generator=generator)
    if dtype == torch.bool:
        return values > 1
    if dtype.is_complex:
        return torch.complex(values.float(), values.flip(0).float()).to(dtype)
    return values.to(dtype)
