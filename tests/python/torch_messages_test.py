"""Sends and receives: tags, order, sizes, both directions at once; sub-groups; what is refused."""

import unittest

import torch
import torch.distributed as dist
from torch_job import group, inputs, run, start

LARGE = 1 << 21  # elements: more than any queue holds


def refused(text, call):
    try:
        call()
    except RuntimeError as error:
        assert text in str(error), f"{error} does not say {text!r}"
    else:
        raise AssertionError(f"nothing was refused; expected {text!r}")


def tags(rank, size, gloo, ours):
    # The receiver asks in another order than the sender sends, and for some messages before they are sent.
    if rank == 0:
        for tag in range(5):
            dist.send(torch.full((1000,), float(tag)), 1, group=ours, tag=tag)
    elif rank == 1:
        for tag in (4, 0, 2, 1, 3):
            tensor = torch.zeros(1000)
            dist.recv(tensor, 0, group=ours, tag=tag)
            assert tensor.eq(tag).all(), tag
    dist.barrier(group=ours)


def both_ways(rank, size, gloo, ours):
    # Every rank sends to every rank before any rank receives, followed by a collective.
    peers = [peer for peer in range(size) if peer != rank]
    sends = [dist.isend(torch.full((LARGE,), float(rank)), peer, group=ours) for peer in peers]
    total = torch.ones(1)
    dist.all_reduce(total, group=ours)
    received = [torch.zeros(LARGE) for _ in peers]
    receives = [dist.irecv(tensor, peer, group=ours) for tensor, peer in zip(received, peers)]
    for work in sends + receives:
        work.wait()
        assert work.is_completed() and work.is_success()
    for tensor, peer in zip(received, peers):
        assert tensor.eq(peer).all()
    assert total.item() == size


def batches(rank, size, gloo, ours):
    sent, received = inputs(rank, (50,), torch.int64), torch.zeros(50, dtype=torch.int64)
    right, left = (rank + 1) % size, (rank - 1) % size
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, right, group=ours),
                                    dist.P2POp(dist.irecv, received, left, group=ours)])
    for work in works:
        work.wait()
    assert torch.equal(received, inputs(left, (50,), torch.int64))
    assert works[1].get_future().wait()[0] is not None


def layouts_and_sizes(rank, size, gloo, ours):
    if rank == 0:
        dist.send(torch.arange(12).view(3, 4).t(), 1, group=ours)
        dist.send(torch.zeros(0), 1, group=ours)
        dist.send(torch.zeros(3), 1, group=ours)
        dist.send(torch.ones(1), 1, group=ours)
    elif rank == 1:
        tensor = torch.zeros(3, 4, dtype=torch.int64)
        dist.recv(tensor.t(), 0, group=ours)
        assert torch.equal(tensor, torch.arange(12).view(3, 4)), tensor
        dist.recv(torch.zeros(0), 0, group=ours)
        refused("12 bytes", lambda: dist.recv(torch.zeros(2), 0, group=ours))
        dist.recv(torch.zeros(1), 0, group=ours)  # and the channel goes on
    dist.barrier(group=ours)


def refusals(rank, size, gloo, ours):
    beyond = dist.distributed_c10d.GatherOptions()
    beyond.rootRank = 9
    cases = {
        "name the rank": lambda: dist.recv(torch.zeros(1), group=ours),
        "no reduction MAX of ComplexFloat": lambda: dist.reduce(
            torch.zeros(1, dtype=torch.complex64), 0, dist.ReduceOp.MAX, group=ours),
        "no reduction AVG of Bool": lambda: dist.all_reduce(
            torch.zeros(1, dtype=torch.bool), dist.ReduceOp.AVG, group=ours),
        "no reduction BAND of Float": lambda: dist.all_reduce(torch.zeros(1), dist.ReduceOp.BAND, group=ours),
        "expected a dense one": lambda: dist.all_reduce(torch.eye(2).to_sparse(), group=ours),
        "must be alike": lambda: dist.all_gather([torch.zeros(2)] * size, torch.zeros(3), group=ours),
        "4 x Double": lambda: dist.all_gather_into_tensor(
            torch.zeros(4, dtype=torch.float64), torch.zeros(4 // size), group=ours),
        "gather: root is 9": lambda: ours.gather([], [torch.zeros(1)], beyond),
        "rows together": lambda: dist.all_to_all_single(
            torch.zeros(size), torch.zeros(size), [1] * size, [2] * size, group=ours),
    }
    for text, call in cases.items():
        refused(text, call)
    dist.barrier(group=ours)  # refused before anything began


def sub_groups(rank, size, gloo, ours):
    groups = [dist.new_group([first, first + 2], backend="xylem") for first in (0, 1)]
    mine, other = groups[rank % 2], (rank + 2) % 4
    for turn in range(3):
        tensor = torch.full((10,), float(rank + turn))
        dist.all_reduce(tensor, group=mine)
        assert tensor.eq(rank + other + 2 * turn).all()
        whole = torch.ones(1)
        dist.all_reduce(whole, group=ours)
        assert whole.item() == size
    # Ranks are numbered as in the whole job.
    tensor = torch.full((1,), float(rank))
    if rank < 2:
        dist.send(tensor, other, group=mine)
    else:
        dist.recv(tensor, other, group=mine)
        assert tensor.item() == other
    dist.broadcast(tensor, rank % 2, group=mine)
    assert tensor.item() == rank % 2
    dist.destroy_process_group(mine)


class MessagesTest(unittest.TestCase):
    def together(self, size, checks):
        def check(rank, size, gloo, ours):
            for one in checks:
                one(rank, size, gloo, ours)

        run(size, check)

    def test_two_ranks(self):
        self.together(2, [tags, both_ways, batches, layouts_and_sizes, refusals])

    def test_groups_of_some_ranks_come_first(self):
        def body(rank, size, init):
            with group("gloo", rank, size, init):
                for ranks in ([0, 1], [2, 3], [0, 2], [1, 2, 3]):
                    some = dist.new_group(ranks, backend="xylem")
                    if rank in ranks:
                        tensor = torch.tensor([float(rank)])
                        dist.all_reduce(tensor, group=some)
                        assert tensor.item() == sum(ranks)
                dist.barrier()

        self.assertEqual(start(4, body), [0] * 4)

    def test_four_ranks(self):
        self.together(4, [both_ways, batches, sub_groups])


if __name__ == "__main__":
    unittest.main()
