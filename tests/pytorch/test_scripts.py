# SPDX-License-Identifier: BSL-1.0
"""Each script as a process: five steps, its reports, a stop in mid-run and before the first step, a missing data set."""

import math
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

import support

JOBS = tomllib.loads((support.EXAMPLES / "jobs.toml").read_text())["job"]
REPORT = re.compile(r"step=(\d+) loss=(\S+)")
PATIENCE = 120  # seconds; for a machine that is busy with other things


def catches_sigterm(pid: int) -> bool:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return bool(int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (signal.SIGTERM - 1) & 1)


class Scripts(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        support.write_data_set(self.folder)
        self.environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, script, *arguments, data=None):
        command = [sys.executable, str(support.EXAMPLES / script), "--data", str(data or self.folder), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def output_of(self, script, *arguments):
        process = self.start(script, *arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        return output

    def test_each_model_takes_five_steps(self):
        self.assertEqual(len(JOBS), 8)
        for job in JOBS:
            with self.subTest(job["name"]):
                lines = self.output_of(pathlib.Path(job["command"][1]).name, "--steps", "5").splitlines()
                report = REPORT.fullmatch(lines[-1])
                self.assertEqual((len(lines), int(report[1])), (1, 5))
                self.assertTrue(math.isfinite(float(report[2])) and float(report[2]) > 0)

    def test_a_seed_gives_the_same_run_again(self):
        first, second, other = (self.output_of("vae.py", "--steps", "5", "--seed", seed) for seed in ("7", "7", "8"))
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_progress_reaches_the_socket(self):
        inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(inbox.close)
        inbox.bind(str(self.folder / "p.sock"))
        self.environment |= {"RATION_PROGRESS": f"unix:{self.folder}/p.sock", "RATION_JOB": "cnn", "RATION_INCARNATION": "1",
                             "RATION_TOKEN": "0123456789abcdef"}
        loss = float(REPORT.fullmatch(self.output_of("cnn.py", "--steps", "5").strip())[2])
        inbox.setblocking(False)
        messages = []
        try:
            while True:
                messages.append(inbox.recv(2048).decode())
        except BlockingIOError:
            pass
        fields = [(message.split()[1], dict(field.split("=") for field in message.split()[2:])) for message in messages]
        kinds = [kind for kind, _ in fields]
        self.assertEqual((kinds[0], kinds[-1]), ("hello", "bye"))
        self.assertEqual([f["ph"] for kind, f in fields if kind == "phase"], ["load", "train"])
        steps = [f for kind, f in fields if kind == "step"]
        self.assertEqual([(f["s"], f["x"]) for f in steps], [("5", "5")])
        self.assertAlmostEqual(float(steps[0]["l"]), loss, places=4)
        self.assertEqual((fields[-1][1]["rc"], fields[-1][1]["why"]), ("0", "done"))

    def test_stops_in_mid_run(self):
        process = self.start("rnn.py", "--steps", "1000000000")
        self.assertRegex(process.stdout.readline(), REPORT)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertRegex(output, r"stopped before step \d+\n$")

    def test_stops_before_the_first_step(self):
        process = self.start("rnn.py", "--steps", "1000000000")
        deadline = time.monotonic() + PATIENCE
        while not catches_sigterm(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, output), (0, "stopped before step 1\n"))

    def test_a_missing_data_set_is_named_with_its_remedy(self):
        process = self.start("rnn.py", data="/nowhere")
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, output), (1, ""))
        self.assertRegex(errors, r"^cannot read the data set: .*/nowhere/train-images.*\ninstall it \(apt-get install dataset-")


if __name__ == "__main__":
    support.run_tests()
