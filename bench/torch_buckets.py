#!/usr/bin/env python3
"""Gradient all-reduce as DistributedDataParallel does it for ResNet-50: its 97.5 MiB of 32-bit gradients in the buckets
that DDP makes of them, with the back-ends gloo and xylem.

    PYTHONPATH=build/release/python python3 bench/torch_buckets.py [--ranks 2] [--rounds 5] [--bytes N] [--json]

Ranks are processes with a core each, and threads of torch only there. Both back-ends are alive all the time and take
turns, round after round; the two have the same tensors, in memory from where torch takes it. A time is that of a whole
set of buckets on the slowest rank: all are started, as backward does, and then waited for. Medians, and the ratio of
each round's times.
"""

import argparse
import json
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import xylem.torch

MIB = 1 << 20
# DDP's usual limits: a small first bucket, so that communication starts early.
BUCKET_LIMITS = [1 * MIB, 25 * MIB]


def resnet50_shapes():
    """The shapes of ResNet-50's parameters, in order."""
    shapes = [(64, 3, 7, 7), (64,), (64,)]
    width = 64
    for planes, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            convolutions = [(planes, width, 1, 1), (planes, planes, 3, 3), (4 * planes, planes, 1, 1)]
            if block == 0:
                convolutions.append((4 * planes, width, 1, 1))
            for shape in convolutions:
                shapes += [shape, shape[:1], shape[:1]]
            width = 4 * planes
    return shapes + [(1000, width), (1000,)]


def resnet50_buckets():
    """Elements of the buckets that DDP makes of the gradients, which are ready from the last layer on."""
    gradients = [torch.empty(shape) for shape in reversed(resnet50_shapes())]
    places, _ = dist._compute_bucket_assignment_by_size(gradients, BUCKET_LIMITS)
    return [sum(gradients[i].numel() for i in bucket) for bucket in places]


BACKENDS = ("gloo", "xylem")


def all_reduce(buckets, group):
    works = [dist.all_reduce(bucket, group=group, async_op=True) for bucket in buckets]
    for work in works:
        work.wait()


def measure(buckets, group, repeats):
    """Seconds of one set on the slowest rank."""
    times = []
    for _ in range(repeats):
        dist.barrier(group=group)
        begun = time.perf_counter()
        all_reduce(buckets, group)
        mine = torch.tensor([time.perf_counter() - begun], dtype=torch.float64)
        dist.all_reduce(mine, op=dist.ReduceOp.MAX, group=group)
        times.append(mine.item())
        for bucket in buckets:
            bucket.fill_(1.0)
    return statistics.median(times)


def rank_main(rank, options, store):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=options.ranks)
    groups = {name: dist.new_group(backend=name) for name in BACKENDS}
    counts = [options.bytes // 4] if options.bytes else resnet50_buckets()
    usual = xylem.torch.share_memory(False)
    buckets = {"gloo": [torch.ones(count) for count in counts]}
    xylem.torch.share_memory(usual and not options.malloc)
    buckets["xylem"] = [torch.ones(count) for count in counts]
    for name in BACKENDS:
        all_reduce(buckets[name], groups[name])
        for bucket in buckets[name]:
            assert bucket.eq(options.ranks).all(), f"{name}: wrong sums"
            bucket.fill_(1.0)
    rounds = [{name: measure(buckets[name], groups[name], options.repeats) for name in BACKENDS}
              for _ in range(options.rounds)]
    if rank == 0:
        report(rounds, counts, options)
    dist.barrier()
    dist.destroy_process_group()


def report(rounds, counts, options):
    medians = {name: 1e3 * statistics.median(r[name] for r in rounds) for name in BACKENDS}
    ratios = sorted(r["gloo"] / r["xylem"] for r in rounds)
    if options.json:
        print(json.dumps({"ranks": options.ranks, "bytes": 4 * sum(counts), "buckets": counts, "rounds": rounds}))
        return
    sizes = ", ".join(f"{4 * count / MIB:.3g}" for count in counts)
    print(f"{options.ranks} ranks, {4 * sum(counts) / MIB:.3g} MiB in buckets of {sizes} MiB")
    for name in BACKENDS:
        print(f"{name:6}  {medians[name]:9.3f} ms")
    print(f"gloo / xylem: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5, help="sets per round and back-end")
    parser.add_argument("--bytes", type=int, help="one tensor of this size instead")
    parser.add_argument("--malloc", action="store_true", help="Xylem's buckets from malloc, too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(rank_main, (options, os.path.join(folder, "store")), nprocs=options.ranks)


if __name__ == "__main__":
    main()
