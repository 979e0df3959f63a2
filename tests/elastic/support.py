# SPDX-License-Identifier: BSL-1.0
"""What the tests of elastic jobs share: the package, a small fake for ration, and waiting for what has to happen."""
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = float(os.environ.get("RATION_TEST_PATIENCE", 120))  # seconds; for a machine that is busy with other things
SKIPPED = 77
TOKEN = "0123456789abcdef"

sys.dont_write_bytecode = True
sys.path.insert(0, str(PACKAGE))


def need_torch():
    """Skips the test where PyTorch is missing, or cannot share a job among several processes."""
    try:
        import torch
    except ImportError:
        print(f"skipped: {sys.executable} has no PyTorch (cmake/packages.sh pytorch installs it)")
        sys.exit(SKIPPED)
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        print(f"skipped: the PyTorch of {sys.executable} is built without gloo")
        sys.exit(SKIPPED)


def await_that(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.005)


def is_gone(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


class Ration:
    """The part of ration that a job can observe: it launches the job, receives and validates its messages, and sends commands."""

    def __init__(self, test):
        holder = tempfile.TemporaryDirectory()
        test.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name) / "run"
        self.folder.mkdir(mode=0o700)
        self.checkpoints = pathlib.Path(holder.name) / "checkpoints"
        self.checkpoints.mkdir(mode=0o700)
        self._inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        test.addCleanup(self._inbox.close)
        self._inbox.bind(str(self.folder / "p.sock"))
        self._out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        test.addCleanup(self._out.close)
        self._test, self.incarnation, self._sequence = test, 0, 0
        self.heard, self.job, self.control = [], None, None

    def launch(self, command, devices=None, python=sys.executable, **more):
        """Starts a job on that many CPU devices; without a number it is started as outside of `ration.ranks`."""
        self.incarnation += 1
        self.heard, self.control = [], None
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                       "RATION_PROGRESS": f"unix:{self.folder}/p.sock", "RATION_JOB": "job", "RATION_INCARNATION": str(self.incarnation),
                       "RATION_TOKEN": TOKEN, "RATION_CHECKPOINT": str(self.checkpoints), **more}
        if devices is not None:
            environment["RATION_DEVICES"] = ",".join(f"cpu-{at}" for at in range(devices))
            command = ["-m", "ration.ranks", *command]
        self.job = subprocess.Popen([python, *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._test.addCleanup(self.job.communicate)
        self._test.addCleanup(self.job.kill)

    def listen(self, seconds=0.05):
        """Takes in what waits, or comes within that time."""
        while select.select([self._inbox], [], [], seconds)[0]:
            seconds = 0
            text = self._inbox.recv(2048).decode("ascii")
            self._test.assertLessEqual(len(text), 1024)
            word, kind, *pairs = text.split(" ")
            fields = dict(pair.split("=") for pair in pairs)
            self._test.assertEqual((word, fields["e"], fields["k"]), ("P1", str(self.incarnation), TOKEN))
            self.control = fields.get("rx", self.control)
            self.heard.append((kind, fields))

    def of(self, kind):
        return [fields for heard, fields in self.heard if heard == kind]

    def until(self, condition, what):
        """Listens until it holds; a job that ends meanwhile is a failure."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.listen()
            if self.job.poll() is not None:
                self.listen()
                if condition():
                    return
                raise AssertionError(f"the job ended while waiting: {what}\n{self.job.communicate()}")
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain: {what}; heard {self.heard[-5:]}")

    def tell(self, kind, **pairs):
        self._sequence += 1
        said = "".join(f" {key}={value}" for key, value in pairs.items())
        self._out.sendto(f"C1 {kind} e={self.incarnation} k={TOKEN} q={self._sequence}{said}".encode(), self.control)
        return str(self._sequence)

    def outcome(self):
        """Listens until the job has ended; (exit status, standard output, standard error)."""
        end = time.monotonic() + PATIENCE
        while self.job.poll() is None:
            self.listen()
            if time.monotonic() > end:
                raise AssertionError(f"the job does not end; heard {self.heard[-5:]}")
        self.listen()
        output, errors = self.job.communicate()
        return self.job.returncode, output, errors


def run_tests():
    unittest.main(verbosity=2)
