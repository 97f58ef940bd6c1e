"""An operation that waits for a rank that is late, gone or never comes ends with an error that says so."""

import os
import time
import unittest
from datetime import timedelta

import torch
import torch.distributed as dist
from torch_job import group, start

LATE = 0.5  # seconds until a wait gives up


def expect(text, call):
    begun = time.monotonic()
    try:
        call()
    except RuntimeError as error:
        assert text in str(error), f"{error} does not say {text!r}"
    else:
        raise AssertionError(f"nothing failed; expected {text!r}")
    return time.monotonic() - begun


class FailuresTest(unittest.TestCase):
    def outcome(self, size, body):
        def inside(rank, size, init):
            with group("xylem", rank, size, init, seconds=60):
                body(rank, init)

        return start(size, inside)

    def test_a_rank_that_does_not_come_to_a_collective(self):
        def body(rank, init):
            if rank == 0:
                late = dist.new_group(backend="xylem", timeout=timedelta(seconds=LATE))
                work = dist.all_reduce(torch.ones(1), group=late, async_op=True)
                future = work.get_future()
                self.assertGreaterEqual(expect("ALLREDUCE timed out", work.wait), LATE / 2)
                expect("rank 1 has not called it; it has called nothing so far", work.wait)
                expect("timed out", future.wait)
                expect("timed out", lambda: dist.all_reduce(torch.ones(1), group=late))
            else:
                dist.new_group(backend="xylem")
            dist.barrier()  # other groups go on

        self.assertEqual(self.outcome(2, body), [0, 0])

    def test_ranks_that_are_told_who_was_late(self):
        def body(rank, init):
            short = dist.new_group(backend="xylem", timeout=timedelta(seconds=LATE if rank == 0 else 60))
            dist.all_reduce(torch.ones(8), group=short)
            if rank < 2:
                expect("ranks 2-3 have not called it; rank 2: its last call: #0 AllReduce",
                       lambda: dist.all_reduce(torch.ones(1), group=short))
            if rank == 0:
                with self.assertRaisesRegex(RuntimeError, "a receive from rank 3 timed out: it does not send"):
                    other = dist.new_group(backend="xylem", timeout=timedelta(seconds=LATE))
                    dist.recv(torch.ones(1), 3, group=other)
            else:
                dist.new_group(backend="xylem")
            dist.barrier()

        self.assertEqual(self.outcome(4, body), [0, 0, 0, 0])

    def test_a_wait_with_a_time_out(self):
        def body(rank, init):
            if rank == 0:
                work = dist.all_reduce(torch.ones(1), async_op=True)
                expect("timed out", lambda: work.wait(timedelta(seconds=0.2)))
                dist.distributed_c10d._get_default_store().set("seen", "1")
            else:  # is there, and does something else
                dist.distributed_c10d._get_default_store().get("seen")

        self.assertEqual(self.outcome(2, body), [0, 0])

    def test_a_message_that_nobody_takes(self):
        def body(rank, init):
            short = dist.new_group(backend="xylem", timeout=timedelta(seconds=LATE))
            if rank == 0:
                expect("timed out", lambda: dist.send(torch.ones(1), 1, group=short))
                expect("timed out", lambda: dist.send(torch.ones(1), 1, group=short))
            dist.barrier()

        self.assertEqual(self.outcome(2, body), [0, 0])

    def test_a_rank_that_dies(self):
        def body(rank, init):
            dist.all_reduce(torch.ones(1))
            if rank == 1:
                os._exit(7)
            expect("rank 1", lambda: dist.all_reduce(torch.ones(1)))

        self.assertEqual(self.outcome(2, body), [0, 7])

    def test_a_message_to_a_rank_that_never_comes_to_it(self):
        def body(rank, init):
            if rank == 1:
                os._exit(7)
            self.assertLess(expect("rank 1 is gone", lambda: dist.recv(torch.ones(1), 1)), 30)
            expect("rank 1 is gone", lambda: dist.send(torch.ones(1), 1))

        self.assertEqual(self.outcome(2, body), [0, 7])

    def test_a_message_whose_other_end_has_given_up(self):
        def body(rank, init):
            short = dist.new_group(backend="xylem", timeout=timedelta(seconds=LATE))
            store = dist.distributed_c10d._get_default_store()
            if rank == 1:
                expect("a receive from rank 0 timed out", lambda: dist.recv(torch.ones(1), 0, group=short))
                store.set("given up", "1")
                store.get("sent")
            else:
                store.get("given up")
                self.assertLess(expect("a send to rank 1 timed out", lambda: dist.send(torch.ones(1), 1, group=short)), 30)
                work = dist.isend(torch.ones(1), 1)
                self.assertLess(expect("a send to rank 1 timed out", lambda: work.wait(timedelta(seconds=0.2))), 30)
                store.set("sent", "1")

        self.assertEqual(self.outcome(2, body), [0, 0])

    def test_errors_of_messages_name_the_ranks_of_the_group(self):
        def body(rank, init):
            if rank == 3:
                dist.send(torch.ones(1), 2)
                os._exit(7)
            if rank == 2:
                dist.recv(torch.ones(1), 3)
                expect("rank 3 is gone", lambda: dist.recv(torch.ones(1), 3))

        self.assertEqual(self.outcome(4, body), [0, 0, 0, 7])

    def test_ending_a_group_with_work_under_way(self):
        def inside(rank, size, init):
            seen = []
            with group("xylem", rank, size, init):
                store = dist.distributed_c10d._get_default_store()
                if rank == 0:
                    work = dist.all_reduce(torch.ones(1), async_op=True)
                    work.get_future().add_done_callback(lambda future: seen.append(future))
                    message = dist.irecv(torch.ones(1), 1)
                    del work
                else:
                    store.get("ended")
                    return
            store.set("ended", "1")
            expect("ended", message.wait)
            for _ in range(1000):  # the callback runs on another thread
                if seen:
                    break
                time.sleep(0.01)
            expect("ended", seen[0].wait)

        self.assertEqual(start(2, inside), [0, 0])

    def test_a_group_that_stays_incomplete(self):
        def inside(rank, size, init):
            if rank == 0:
                with self.assertRaisesRegex(RuntimeError, "only 1 of 2 ranks came .* rank 1 did not"):
                    with group("xylem", rank, size, init, seconds=LATE):
                        pass

        self.assertEqual(start(2, inside), [0, 0])


if __name__ == "__main__":
    unittest.main()
