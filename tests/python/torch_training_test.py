"""Training as programs do it: DistributedDataParallel of a small convolutional network has the losses that it has with
gloo; every way to start; memory that is shared and memory that is not."""

import os
import resource
import socket
import subprocess
import sys
import unittest

import torch
import torch.distributed as dist
import xylem.torch
from torch import nn
from torch_job import group, run, start

STEPS = 4
BIG = 1 << 19  # elements of 4 bytes: enough to be shared


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4))
        # Large enough for several buckets of half a megabyte.
        self.head = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.Linear(512, 10))

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


def losses(process_group, rank, **options):
    torch.manual_seed(rank)  # DDP must make the parameters those of rank 0
    model = nn.parallel.DistributedDataParallel(Net(), process_group=process_group, bucket_cap_mb=0.5, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = torch.Generator().manual_seed(100 + rank)
    found = []
    for _ in range(STEPS):
        images = torch.randn(8, 3, 12, 12, generator=data)
        labels = torch.randint(0, 10, (8,), generator=data)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


class TrainingTest(unittest.TestCase):
    def test_losses_are_those_with_gloo(self):
        def check(rank, size, gloo, ours):
            for options in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True}):
                a, b = losses(ours, rank, **options), losses(gloo, rank, **options)
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
                self.assertNotEqual(a[0], a[-1])

        run(2, check)

    def test_a_communication_hook(self):
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

        def check(rank, size, gloo, ours):
            found = {}
            for backend in (ours, gloo):
                torch.manual_seed(0)
                model = nn.parallel.DistributedDataParallel(Net(), process_group=backend, bucket_cap_mb=0.5)
                model.register_comm_hook(backend, fp16_compress_hook)
                data = torch.Generator().manual_seed(rank)
                for _ in range(2):
                    model(torch.randn(4, 3, 12, 12, generator=data)).sum().backward()
                found[backend] = torch.cat([p.grad.flatten() for p in model.parameters()])
            torch.testing.assert_close(found[ours], found[gloo])

        run(2, check)


# Another program may take a port after it was found free and before it is used.
TRIES = 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class StartTest(unittest.TestCase):
    def codes(self, init):
        def body(rank, size, init):
            with group("xylem", rank, size, init):
                tensor = torch.full((3,), float(rank))
                dist.all_reduce(tensor)
                assert tensor.eq(1).all()
            if init.startswith("tcp"):
                return
            # The default group is made a second time.
            with group("xylem", rank, size, init + "2"):
                dist.barrier()

        return start(2, body, init)

    def test_a_file(self):
        self.assertEqual(self.codes(None), [0, 0])

    def test_a_port(self):
        for _ in range(TRIES):
            if (codes := self.codes(f"tcp://127.0.0.1:{free_port()}")) == [0, 0]:
                return
        self.fail(f"ranks ended with {codes}")

    def test_torchrun_and_its_environment(self):
        script = os.path.join(os.path.dirname(__file__), "torchrun_rank.py")
        for _ in range(TRIES):
            # Without redirects torch 1.13 does not start under Python 3.11.
            command = [sys.executable, "-m", "torch.distributed.run", "--redirects=1", "--tee=1",
                       f"--master_port={free_port()}", "--nproc_per_node=2", script]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"})
            if "Address already in use" not in done.stdout + done.stderr:
                break
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(line[line.index("rank"):] for line in done.stdout.splitlines() if "rank" in line),
                         [f"rank {rank}: 3.0" for rank in range(2)])


class MemoryTest(unittest.TestCase):
    def test_operations_on_whole_tensors_share_them(self):
        def check(rank, size, gloo, ours):
            large, small = torch.full((BIG,), float(rank)), torch.ones(10)
            assert not xylem.torch.is_shared(large)
            for _ in range(3):
                dist.all_reduce(large, group=ours)
            dist.all_reduce(small, group=ours)
            assert large.eq(size * size).all() and xylem.torch.is_shared(large)
            assert not xylem.torch.is_shared(small)
            # A part of a tensor is used without sharing it.
            parts = torch.full((2, BIG), float(rank))
            dist.all_reduce(parts[1], group=ours)
            assert parts[0].eq(rank).all() and parts[1].eq(1).all() and not xylem.torch.is_shared(parts)
            # Shared memory is complete again when the next tensor gets it.
            del large
            for _ in range(3):
                assert torch.zeros(BIG).eq(0).all()

        run(2, check)

    def test_it_can_be_turned_off(self):
        def check(rank, size, gloo, ours):
            assert xylem.torch.share_memory(False)
            tensor = torch.full((BIG,), float(rank))
            dist.all_reduce(tensor, group=ours)
            assert tensor.eq(1).all() and not xylem.torch.is_shared(tensor)
            assert not xylem.torch.share_memory(True)

        run(2, check)

    def test_a_child_has_its_own_copy(self):
        tensor = torch.zeros(BIG)
        del tensor
        tensor, kept = torch.zeros(BIG), torch.ones(BIG)
        child = os.fork()
        if child == 0:
            tensor.fill_(5)  # as a worker of a DataLoader may
            fresh = [torch.full((BIG,), float(i)) for i in range(4)]
            wrong = any(bool(f.ne(i).any()) for i, f in enumerate(fresh)) or bool(kept.ne(1).any())
            del kept, fresh
            os._exit(3 if wrong else 0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertTrue(tensor.eq(0).all() and kept.eq(1).all())

    def test_a_process_that_may_not_share(self):
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            tensor = torch.full((BIG,), 3.0)
            os._exit(0 if tensor.eq(3).all() else 3)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_tensors_come_and_go(self):
        tensors = {}
        for turn in range(300):
            size = BIG + (turn * 7919) % (3 * BIG)
            tensors[turn % 7] = torch.full((size,), float(turn))
            for value in tensors.values():
                self.assertEqual(value[0], value[-1])
        self.assertEqual(torch.cat(list(tensors.values())).numel(), sum(t.numel() for t in tensors.values()))


if __name__ == "__main__":
    unittest.main()
