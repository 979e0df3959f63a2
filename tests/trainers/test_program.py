# SPDX-License-Identifier: BSL-1.0
"""The trainer as a process: its reports, its messages, its ways to end. Arguments: the program, the library that breaks it."""

import concurrent.futures
import contextlib
import gzip
import math
import os
import pathlib
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, NO_LOGARITHM = sys.argv.pop(1), sys.argv.pop(1)
MODELS = ["softmax", "mlp", "vae", "rnn"]
REPORT = re.compile(r"step=(\d+) loss=(\S+)")
IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
PATIENCE = 120  # seconds; for a machine that is busy with other things


def write_idx(path, sizes, elements):
    path.write_bytes(gzip.compress(struct.pack(f">2xBB{len(sizes)}I", 8, len(sizes), *sizes) + elements))


class Program(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        write_idx(self.folder / IMAGES, [30, 28, 28], random.Random(1).randbytes(30 * 784))
        write_idx(self.folder / LABELS, [30], bytes(n % 10 for n in range(30)))
        self.inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.inbox.close)
        self.inbox.bind(str(self.folder / "p.sock"))
        self.inbox.setblocking(False)
        self.received = []
        self.environment = os.environ | {"RATION_PROGRESS": f"unix:{self.folder}/p.sock", "RATION_JOB": "j", "RATION_INCARNATION": "1",
                                         "RATION_TOKEN": "0123456789abcdef"}

    def start(self, *arguments, data=None):
        command = [PROGRAM, "--data", str(data or self.folder), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_to_end(self, *arguments, data=None):
        """Exit status, output, errors."""
        process = self.start(*arguments, data=data)
        output, errors = self.wait(process)
        return process.returncode, output, errors

    def wait(self, process):
        """Output and errors. Receives meanwhile, since the kernel queues ten messages only."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            ended = pool.submit(process.communicate, timeout=PATIENCE)
            while not ended.done():
                select.select([self.inbox], [], [], 0.05)
                self.receive()
            return ended.result()

    def receive(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                words = self.inbox.recv(2048).decode().split()
                self.received.append((words[1], dict(word.split("=", 1) for word in words[2:])))

    def messages(self):
        """The messages since the last call, as (type, fields)."""
        self.receive()
        received, self.received = self.received, []
        return received

    def assertEnd(self, status, why):
        last = self.messages()[-1]
        self.assertEqual((last[0], last[1]["rc"], last[1]["why"]), ("bye", str(status), why))

    def test_each_model_takes_seven_steps(self):
        for model in MODELS:
            with self.subTest(model):
                status, output, errors = self.run_to_end(model, "--steps", "7", "--batch", "8", "--report-every", "3")
                self.assertEqual((status, errors), (0, ""))
                reports = [REPORT.fullmatch(line) for line in output.splitlines()]
                self.assertEqual([int(report[1]) for report in reports], [3, 6, 7])
                self.assertTrue(all(math.isfinite(float(report[2])) and float(report[2]) > 0 for report in reports))

    def test_a_seed_gives_the_same_run_again(self):
        for model in MODELS:
            with self.subTest(model):
                once, again, other = (self.run_to_end(model, "--steps", "5", "--seed", seed)[1] for seed in ("7", "7", "8"))
                self.assertEqual(once, again)
                self.assertNotEqual(once, other)

    def test_ration_hears_of_every_step(self):
        status, output, _ = self.run_to_end("mlp", "--steps", "40", "--report-every", "1")
        printed = [float(REPORT.fullmatch(line)[2]) for line in output.splitlines()]
        received = self.messages()
        self.assertEqual((status, [kind for kind, _ in received if kind != "step"]), (0, ["hello", "phase", "phase", "bye"]))
        self.assertEqual([fields["ph"] for kind, fields in received if kind == "phase"], ["init", "train"])
        self.assertEqual(received[0][1]["t"], "1")
        steps = [fields for kind, fields in received if kind == "step"]
        self.assertEqual((steps[-1]["s"], steps[-1]["x"], sum(int(fields["c"]) for fields in steps)), ("40", "40", 40))
        self.assertAlmostEqual(sum(float(fields["l"]) * int(fields["c"]) for fields in steps), sum(printed), places=2)
        self.assertEqual((received[-1][1]["rc"], received[-1][1]["why"]), ("0", "done"))

    def test_stops_in_mid_run_when_asked_to(self):
        for asked in (signal.SIGTERM, signal.SIGINT):
            process = self.start("softmax", "--steps", "1000000000")
            self.assertRegex(process.stdout.readline(), REPORT)
            process.send_signal(asked)
            _, errors = self.wait(process)
            self.assertEqual((process.returncode, errors), (0, ""))
            self.assertEnd(0, "stop")

    def test_a_loss_that_is_not_finite_ends_the_run(self):
        self.environment |= {"LD_PRELOAD": NO_LOGARITHM, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        status, output, errors = self.run_to_end("softmax")
        self.assertEqual(status, 3)
        self.assertRegex(output, r"^step=1 loss=-?nan\n$")
        self.assertRegex(errors, r"^train: the loss is not finite; [^\n]+\n$")
        self.assertEnd(3, "diverged")

    def test_a_missing_or_damaged_data_set_is_named_with_the_remedy(self):
        remedy = r"; install it \(apt-get install dataset-fashion-mnist\) or name its folder with --data\n"
        begin = "train: cannot read the data set: "
        status, output, errors = self.run_to_end("softmax", data="/nowhere")
        self.assertEqual((status, output), (1, ""))
        self.assertRegex(errors, f"^{begin}/nowhere/{IMAGES}: No such file or directory{remedy}$")
        self.assertEnd(1, "error")
        labels = self.folder / LABELS
        labels.write_bytes(labels.read_bytes()[:-3])
        status, output, errors = self.run_to_end("softmax")
        self.assertEqual((status, output), (1, ""))
        self.assertRegex(errors, f"^{begin}{re.escape(str(labels))}: ends too early{remedy}$")

    def test_a_wrong_command_line_is_refused_before_anything_is_done(self):
        for wrong in ([], ["lstm"], ["mlp", "vae"], ["mlp", "--fast"], ["mlp", "--steps", "0"], ["mlp", "--steps", "-1"],
                      ["mlp", "--steps", "1e9"], ["mlp", "--batch", "0"], ["mlp", "--batch", "60001"], ["mlp", "--seed", "-1"],
                      ["mlp", "--seed", "18446744073709551616"], ["mlp", "--report-every", "0"]):
            with self.subTest(wrong):
                status, output, errors = self.run_to_end(*wrong)
                self.assertEqual((status, output), (2, ""))
                self.assertNotEqual(errors, "")
        self.assertEqual(self.messages(), [])

    def test_help_names_all_models(self):
        status, output, _ = self.run_to_end("--help")
        self.assertEqual(status, 0)
        for model in MODELS:
            self.assertRegex(output, rf"(?m)^\s+{model}: ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
