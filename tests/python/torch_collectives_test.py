"""Every collective beside gloo's, or beside a plain computation where gloo does not have the type."""

import threading
import unittest

import torch
import torch.distributed as dist
from torch_job import inputs, run

Op = dist.ReduceOp
GLOO_TYPES = [torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8, torch.int32, torch.int64]
OTHER_TYPES = [torch.bfloat16, torch.int16]
SHAPE = (5, 7)


def same(ours, theirs, what):
    assert ours.dtype == theirs.dtype and torch.equal(ours, theirs), f"{what}: {ours} is not {theirs}"


def plain(op, tensors):
    combine = {Op.SUM: torch.add, Op.PRODUCT: torch.mul, Op.MIN: torch.minimum, Op.MAX: torch.maximum,
               Op.BAND: torch.bitwise_and, Op.BOR: torch.bitwise_or, Op.BXOR: torch.bitwise_xor}[op]
    result = tensors[0]
    for tensor in tensors[1:]:
        result = combine(result, tensor)
    return result


def reductions(rank, size, gloo, ours):
    for dtype in GLOO_TYPES:
        for op in (Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX):
            a, b = inputs(rank, SHAPE, dtype), inputs(rank, SHAPE, dtype)
            dist.all_reduce(a, op, group=ours)
            dist.all_reduce(b, op, group=gloo)
            same(a, b, f"all_reduce {dtype} {op}")
    for dtype in OTHER_TYPES:
        everybody = [inputs(r, SHAPE, dtype) for r in range(size)]
        for op in (Op.SUM, Op.PRODUCT, Op.MIN, Op.MAX):
            a = everybody[rank].clone()
            dist.all_reduce(a, op, group=ours)
            same(a, plain(op, everybody), f"all_reduce {dtype} {op}")
    for dtype in (torch.int16, torch.int64, torch.uint8, torch.bool):
        everybody = [inputs(r, SHAPE, dtype) for r in range(size)]
        for op in (Op.BAND, Op.BOR, Op.BXOR):
            a = everybody[rank].clone()
            dist.all_reduce(a, op, group=ours)
            same(a, plain(op, everybody), f"all_reduce {dtype} {op}")


def other_meanings(rank, size, gloo, ours):
    flags = [inputs(r, SHAPE, torch.bool) for r in range(size)]
    for op, expected in ((Op.SUM, torch.stack(flags).any(0)), (Op.MAX, torch.stack(flags).any(0)),
                         (Op.PRODUCT, torch.stack(flags).all(0)), (Op.MIN, torch.stack(flags).all(0))):
        a = flags[rank].clone()
        dist.all_reduce(a, op, group=ours)
        same(a, expected, f"bool {op}")
    for dtype in (torch.complex64, torch.complex128):
        everybody = [inputs(r, SHAPE, dtype) for r in range(size)]
        a = everybody[rank].clone()
        dist.all_reduce(a, group=ours)
        same(a, plain(Op.SUM, everybody), f"{dtype}")
    a = torch.full(SHAPE, float(rank))
    dist.all_reduce(a, Op.AVG, group=ours)
    same(a, torch.full(SHAPE, (size - 1) / 2), "average")


def movements(rank, size, gloo, ours):
    for dtype in GLOO_TYPES:
        for root in (0, size - 1):
            results = []
            for group in (ours, gloo):
                tensor = inputs(rank, SHAPE, dtype)
                dist.broadcast(tensor, root, group=group)
                lists = [torch.zeros(SHAPE, dtype=dtype) for _ in range(size)]
                dist.all_gather(lists, inputs(rank, SHAPE, dtype, 1), group=group)
                collected = [torch.zeros(SHAPE, dtype=dtype) for _ in range(size)] if rank == root else None
                dist.gather(inputs(rank, SHAPE, dtype, 2), collected, dst=root, group=group)
                pieces = [inputs(r, SHAPE, dtype, 3) for r in range(size)] if rank == root else None
                piece = torch.zeros(SHAPE, dtype=dtype)
                dist.scatter(piece, pieces, src=root, group=group)
                reduced = inputs(rank, SHAPE, dtype, 4)
                dist.reduce(reduced, root, group=group)
                results.append([tensor, piece] + lists + (collected or []) + ([reduced] if rank == root else []))
            for a, b in zip(*results):
                same(a, b, f"{dtype} from or to {root}")


def all_to_all(rank, size, gloo, ours):
    # Row counts that every rank can compute: `count(i, j)` rows go from i to j, none from some.
    def count(i, j):
        return (i + 2 * j) % 3

    for dtype in (torch.float32, torch.bool, torch.complex64):
        sent = [inputs(rank, (count(rank, peer), 4), dtype, 10 + peer) for peer in range(size)]
        expected = [inputs(peer, (count(peer, rank), 4), dtype, 10 + rank) for peer in range(size)]
        got = [torch.zeros_like(tensor) for tensor in expected]
        dist.all_to_all(got, sent, group=ours)
        for a, b in zip(got, expected):
            same(a, b, "all_to_all")
        flat = torch.zeros(sum(len(e) for e in expected), 4, dtype=dtype)
        dist.all_to_all_single(flat, torch.cat(sent), [len(e) for e in expected], [len(s) for s in sent], group=ours)
        same(flat, torch.cat(expected), "all_to_all_single")
    even = torch.arange(3 * size) + 100 * rank
    a, b = torch.zeros_like(even), torch.zeros_like(even)
    dist.all_to_all_single(a, even, group=ours)
    dist.all_to_all_single(b, even, group=gloo)
    same(a, b, "all_to_all_single in equal parts")


def scattered_sums(rank, size, gloo, ours):
    for dtype in (torch.float32, torch.int16, torch.int64):
        for op in (Op.SUM, Op.MAX) + ((Op.BXOR,) if dtype == torch.int64 else ()):
            mine = [inputs(rank, SHAPE, dtype, r) for r in range(size)]
            expected = plain(op, [inputs(r, SHAPE, dtype, rank) for r in range(size)])
            output = torch.zeros(SHAPE, dtype=dtype)
            dist.reduce_scatter(output, mine, op, group=ours)
            same(output, expected, f"reduce_scatter {dtype} {op}")
            output.zero_()
            dist._reduce_scatter_base(output, torch.cat(mine), op, group=ours)
            same(output, expected, f"_reduce_scatter_base {dtype} {op}")
    gathered = torch.zeros(size, *SHAPE)
    dist._all_gather_base(gathered, inputs(rank, SHAPE, torch.float32), group=ours)
    same(gathered, torch.stack([inputs(r, SHAPE, torch.float32) for r in range(size)]), "_all_gather_base")


def coalesced(rank, size, gloo, ours):
    shapes = [(3,), (2, 5), (1,)]
    tensors = [inputs(rank, shape, torch.float32, i) for i, shape in enumerate(shapes)]
    dist.all_reduce_coalesced(tensors, group=ours)
    for i, shape in enumerate(shapes):
        same(tensors[i], plain(Op.SUM, [inputs(r, shape, torch.float32, i) for r in range(size)]), "coalesced")
    outputs = [[torch.zeros(shape) for shape in shapes] for _ in range(size)]
    dist.all_gather_coalesced(outputs, [inputs(rank, s, torch.float32, i) for i, s in enumerate(shapes)], group=ours)
    for r in range(size):
        for i, shape in enumerate(shapes):
            same(outputs[r][i], inputs(r, shape, torch.float32, i), "all_gather_coalesced")


def layouts(rank, size, gloo, ours):
    columns = inputs(rank, (6, 4), torch.float32)
    view = columns.t()[1:3]
    before = columns.clone()
    dist.all_reduce(view, group=ours)
    expected = before.clone()
    expected.t()[1:3] = sum(inputs(r, (6, 4), torch.float32).t()[1:3] for r in range(size))
    same(columns, expected, "a view with strides")
    images = inputs(rank, (2, 3, 4, 4), torch.float32).contiguous(memory_format=torch.channels_last)
    dist.broadcast(images, 0, group=ours)
    same(images, inputs(0, (2, 3, 4, 4), torch.float32), "channels last")
    empty = torch.zeros(0)
    dist.all_reduce(empty, group=ours)
    dist.broadcast(empty, 0, group=ours)
    scalar = torch.tensor(float(rank))
    dist.all_reduce(scalar, group=ours)
    same(scalar, torch.tensor(float(sum(range(size)))), "a scalar")
    leaf = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        dist.all_reduce(leaf, group=ours)
    same(leaf.detach(), torch.full((3,), float(size)), "a parameter")
    turned = torch.ones(2, 4).t().detach().requires_grad_()
    parts = [torch.zeros(3, requires_grad=True) for _ in range(size)]
    with torch.no_grad():
        dist.all_reduce(turned, group=ours)
        dist.all_gather(parts, torch.ones(3), group=ours)
    same(turned.detach(), torch.full((4, 2), float(size)), "a parameter with strides")
    same(torch.cat(parts).detach(), torch.ones(3 * size), "parameters")
    assert turned.grad_fn is None and turned.is_leaf
    bits = torch.full((4, 2), 1 << rank).t()  # reduced bit by bit, which the library does not do itself
    dist.all_reduce(bits, dist.ReduceOp.BOR, group=ours)
    same(bits, torch.full((2, 4), (1 << size) - 1), "bits in a view with strides")
    bits = torch.full((4, 2), 1 << rank).t()
    dist.reduce(bits, 0, dist.ReduceOp.BOR, group=ours)
    same(bits, torch.full((2, 4), (1 << size) - 1 if rank == 0 else 1 << rank), "bits, at the root")
    with torch.inference_mode():
        turned = torch.ones(4, 2).t()
        dist.all_reduce(turned, group=ours)
        parts = [torch.zeros(3) for _ in range(size)]
        dist.all_gather(parts, torch.ones(3), group=ours)
    same(turned, torch.full((2, 4), float(size)), "a view in inference mode")
    same(torch.cat(parts), torch.ones(3 * size), "parts in inference mode")


def objects(rank, size, gloo, ours):
    everybody = [None] * size
    dist.all_gather_object(everybody, {"rank": rank}, group=ours)
    assert everybody == [{"rank": r} for r in range(size)], everybody
    said = [rank]
    dist.broadcast_object_list(said, 0, group=ours)
    assert said == [0], said


def asynchronous(rank, size, gloo, ours):
    tensors = [torch.full((100,), float(i + rank)) for i in range(50)]
    works = [dist.all_reduce(tensor, group=ours, async_op=True) for tensor in tensors]
    chained = works[10].get_future().then(lambda future: future.value()[0] * 2)
    # A callback may start something and wait for it.
    nested = works[20].get_future().then(
        lambda future: dist.all_reduce(future.value()[0], group=ours, async_op=True).get_future().wait()[0])
    for work in reversed(works):
        work.wait()
        assert work.is_completed() and work.is_success()
    nested.wait()
    for i, tensor in enumerate(tensors):
        total = float(sum(i + r for r in range(size)))
        same(tensor, torch.full((100,), total * (size if i == 20 else 1)), "asynchronous")
    same(chained.wait(), 2 * tensors[10], "a future's callback")
    work = dist.barrier(group=ours, async_op=True)
    while not work.is_completed():
        pass
    dist.barrier(group=ours)


def threads(rank, size, gloo, ours):
    # Alike on all ranks, so that the order of the ranks does not matter.
    tensors = [torch.ones(300) for _ in range(100)]

    def body(mine):
        for tensor in mine:
            dist.all_reduce(tensor, group=ours)

    others = threading.Thread(target=body, args=(tensors[:50],))
    others.start()
    body(tensors[50:])
    others.join()
    for tensor in tensors:
        assert tensor.eq(size).all()
    # An operation that is refused half-way leaves nothing behind.
    bad = [torch.ones(2), torch.ones(2).to_sparse()]
    try:
        dist.all_reduce_coalesced(bad, group=ours)
    except RuntimeError as error:
        assert "dense" in str(error), error
    else:
        raise AssertionError("a sparse tensor was taken")
    same(bad[0], torch.ones(2), "a tensor of what was refused")


CHECKS = [reductions, other_meanings, movements, all_to_all, scattered_sums, coalesced, layouts, objects]


class CollectivesTest(unittest.TestCase):
    def together(self, size):
        def check(rank, size, gloo, ours):
            for one in CHECKS + [threads, asynchronous]:
                one(rank, size, gloo, ours)

        run(size, check)

    def test_two_ranks(self):
        self.together(2)

    def test_four_ranks(self):
        self.together(4)


if __name__ == "__main__":
    unittest.main()
