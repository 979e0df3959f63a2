# SPDX-License-Identifier: BSL-1.0
"""The elastic epoch script examples/elastic/mnist.py: it learns, two ranks compute what one does, and a stopped run continues where it was."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import support

SCRIPT = support.ROOT / "examples" / "elastic" / "mnist.py"
LINE = re.compile(r"epoch=(\d+) accuracy=(\S+) ranks=(\d+)")
PATIENCE = 120  # seconds; for a machine that is busy with other things
IMAGES = 2000


class Mnist(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        support.write_data_set(self.folder, IMAGES // 10)

    def start(self, epochs, *launcher, **environment):
        environment = {**os.environ, "PYTHONPATH": str(support.ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **environment}
        process = subprocess.Popen([sys.executable, *launcher, str(SCRIPT), str(epochs), str(self.folder)], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def epochs_of(self, process):
        """Of each epoch: its number, its accuracy, the number of ranks."""
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        return [(int(epoch), float(accuracy), int(ranks)) for epoch, accuracy, ranks in LINE.findall(output)]

    def test_it_learns_and_two_ranks_compute_the_same(self):
        one = self.epochs_of(self.start(6))
        self.assertEqual([(epoch, ranks) for epoch, _, ranks in one], [(epoch, 1) for epoch in range(6)])
        self.assertGreater(one[-1][1], 0.6)
        two = self.epochs_of(self.start(3, "-m", "ration.ranks", RATION_DEVICES="cpu-0,cpu-1"))
        self.assertEqual([(epoch, ranks) for epoch, _, ranks in two], [(epoch, 2) for epoch in range(3)])
        for (_, accuracy, _), (_, wanted, _) in zip(two, one):
            self.assertAlmostEqual(accuracy, wanted, delta=1.5 / IMAGES)  # a rounding may move one image across the border of its class

    def test_a_stopped_run_continues_in_its_epoch(self):
        checkpoint = self.folder / "checkpoint"
        checkpoint.mkdir(mode=0o700)
        stopped = self.start(10**6, RATION_CHECKPOINT=str(checkpoint))
        self.assertRegex(stopped.stdout.readline(), "epoch=0 ")
        stopped.send_signal(signal.SIGTERM)
        finished = 1 + len(self.epochs_of(stopped))
        rest = self.epochs_of(self.start(finished + 2, RATION_CHECKPOINT=str(checkpoint)))
        self.assertEqual(rest, self.epochs_of(self.start(finished + 2))[finished:])
        self.assertEqual(len(rest), 2)


if __name__ == "__main__":
    support.run_tests()
