# SPDX-License-Identifier: BSL-1.0
"""Checkpoints: what is kept, what a crash or a damaged file leaves, and how a step's samples are split."""
import contextlib
import multiprocessing
import pathlib
import random
import signal
import tempfile
import unittest
import warnings

import support

support.need_torch()
import torch  # noqa: E402  pylint: disable=wrong-import-position

import ration  # noqa: E402  pylint: disable=wrong-import-position
from ration import checkpoint  # noqa: E402  pylint: disable=wrong-import-position


# Forked from a process that has imported torch and computed nothing: torch's threads do not survive a fork.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["torch"])


def save_until_killed(folder, first, writing):
    """Sends a byte after each checkpoint."""
    for step in range(first, first + 10000):
        checkpoint.save(folder, step, {"value": step, "weight": torch.full((50_000,), float(step))})
        writing.send_bytes(b"x")


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name) / "made" / "by save"

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


class Checkpoint(Folder):
    def test_everything_comes_back(self):
        def parts():
            model = torch.nn.Linear(4, 2)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
            return {"model": model, "optimizer": optimizer, "schedule": torch.optim.lr_scheduler.StepLR(optimizer, 2)}

        def steps(of, count):
            for _ in range(count):
                of["optimizer"].zero_grad()
                of["model"](torch.randn(8, 4)).square().sum().backward()
                of["optimizer"].step()
                of["schedule"].step()
            return [*of["model"].parameters()], random.random(), of["schedule"].get_last_lr()

        first = parts()
        steps(first, 3)
        checkpoint.save(self.folder, 3, checkpoint.capture(**first))
        whole = steps(first, 4)
        second = parts()
        found = checkpoint.load(self.folder)
        self.assertEqual(found.step, 3)
        checkpoint.restore(found.state, **second)
        again = steps(second, 4)
        self.assertEqual(whole[1:], again[1:])
        for one, other in zip(whole[0], again[0]):
            self.assertTrue(torch.equal(one, other))
        with self.assertRaisesRegex(KeyError, "no 'critic': it has model, optimizer, random, schedule"):
            checkpoint.restore(found.state, critic=first["model"])

    def test_the_newest_two_are_kept(self):
        self.assertIsNone(checkpoint.load(self.folder))
        for step in (1, 2, 10, 9):
            checkpoint.save(self.folder, step, {"value": step})
        self.assertEqual([name[:17] for name in self.names()], ["step-000000000002", "step-000000000009"])  # 10 came from a run undone
        self.assertEqual(checkpoint.load(self.folder).state, {"value": 9})

    def test_a_damaged_file_is_passed_over_with_a_warning(self):
        for damage in (lambda data: data[: len(data) // 2], lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:], lambda data: b""):
            checkpoint.save(self.folder, 1, {"value": 1})
            path = pathlib.Path(checkpoint.save(self.folder, 2, {"value": 2}))
            path.write_bytes(damage(path.read_bytes()))
            with self.assertWarnsRegex(UserWarning, "step-000000000002.* is damaged: the one before it is used"):
                self.assertEqual(checkpoint.load(self.folder).state, {"value": 1})
            checkpoint.save(self.folder, 2, {"value": 3})
            self.assertEqual(checkpoint.load(self.folder).state, {"value": 3})
            for name in self.names():
                (self.folder / name).unlink()

    def test_a_full_disk_leaves_the_one_before(self):
        checkpoint.save(self.folder, 1, {"value": torch.zeros(10)})
        import resource  # pylint: disable=import-outside-toplevel
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
            with self.assertRaisesRegex(OSError, "cannot write a checkpoint in .*the one before it is kept"):
                checkpoint.save(self.folder, 2, {"value": torch.zeros(1_000_000)})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        self.assertEqual(len(self.names()), 1)
        self.assertEqual(checkpoint.load(self.folder).step, 1)

    def test_a_kill_at_any_moment_loses_no_checkpoint(self):
        last = 0
        for round_ in range(40):
            reading, writing = FORKS.Pipe(duplex=False)
            process = FORKS.Process(target=save_until_killed, args=(self.folder, last + 1, writing))
            process.start()
            writing.close()
            reading.recv_bytes()  # it is at work
            wait = random.Random(round_).uniform(0, 0.02)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
            signal.setitimer(signal.ITIMER_REAL, wait + 1e-6)
            signal.sigwait({signal.SIGALRM})
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            process.kill()
            process.join()
            saved = 1
            with contextlib.suppress(EOFError):
                while reading.recv_bytes():
                    saved += 1
            reading.close()
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a file of that name is whole
                found = checkpoint.load(self.folder)
            self.assertIn(found.step, (last + saved, last + saved + 1))
            self.assertEqual((found.state["value"], float(found.state["weight"][-1])), (found.step, float(found.step)))
            last = found.step
        checkpoint.save(self.folder, last + 1, {})
        self.assertEqual(len(self.names()), 2)  # what was half written is gone


class Split(unittest.TestCase):
    def test_shares_are_exact(self):
        self.assertEqual([ration.share(512, rank, 3) for rank in range(3)], [(0, 171), (171, 171), (342, 170)])
        for batch in (1, 7, 100, 512, 513):
            for world in range(1, 9):
                shares = [ration.share(batch, rank, world) for rank in range(world)]
                self.assertEqual(sum(count for _, count in shares), batch)
                self.assertLessEqual(shares[0][1] - shares[-1][1], 1)
                ends = [first + count for first, count in shares]
                self.assertEqual([first for first, _ in shares], [0, *ends[:-1]])
        for rank, world in ((-1, 2), (2, 2), (0, 0)):
            with self.assertRaises(ValueError):
                ration.share(8, rank, world)

    def taken(self, world, steps, position=0, samples=23, batch=10, seed=4):
        """The samples of each step, the ranks' parts one behind the other."""
        class Run:
            pass

        parts = []
        for rank in range(world):
            run = Run()
            run.rank, run.world, run.batch, run.seed, run.position = rank, world, batch, seed, position
            parts.append([drawn for _, drawn in zip(range(steps), iter(ration.elastic_loop._Batches(run, samples)))])
        return [sum(step, []) for step in zip(*parts)]

    def test_the_order_does_not_depend_on_the_ranks(self):
        alone = self.taken(1, 12)
        for world in (2, 3, 4, 7, 10):
            self.assertEqual(self.taken(world, 12), alone)
        self.assertEqual(self.taken(3, 5, position=70), alone[7:])

    def test_every_pass_takes_every_sample_once_in_an_order_of_its_own(self):
        drawn = sum(self.taken(1, 46, batch=2), [])
        passes = [drawn[at : at + 23] for at in range(0, 92, 23)]
        self.assertTrue(all(sorted(one) == list(range(23)) for one in passes))
        self.assertEqual(len({tuple(one) for one in passes}), 4)
        self.assertNotEqual(self.taken(1, 3, seed=5), self.taken(1, 3))


if __name__ == "__main__":
    support.run_tests()
