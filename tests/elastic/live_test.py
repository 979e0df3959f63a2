# SPDX-License-Identifier: BSL-1.0
"""`ration run` and real training: a PyTorch job whose number of processes changes again and again, by the dice.

usage: live_test.py RESIZES [Live.CASE | Batches]    RATION_PROGRAM and RATION_RANDOM_SIZES name the program and the policy
"""
import contextlib
import io
import json
import os
import pathlib
import re
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import support

support.need_torch()
RESIZES = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 4
JOB = str(support.HERE / "job.py")
STEP = re.compile(r"^step=(\d+) loss=(\S+)$", re.MULTILINE)
OPEN_FILES = 500  # the soft limit, which ration raises for itself and not for the jobs
HEAD = """devices = { count = 3, cpu = 0.6 }
tick = "1s"
"""


def job(name, steps, devices, more=""):
    return f"""
[[job]]
name = "{name}"
command = {json.dumps([sys.executable, "-m", "ration.ranks", JOB, str(steps), "0.02"])}
environment = {{ PYTHONPATH = {json.dumps(str(support.PACKAGE))}, PYTHONDONTWRITEBYTECODE = "1" }}
target = {{ loss = {{ objective = 1e-9 }} }}
bounds = {{ gpu = {{ min = 1, max = {devices} }} }}
deadlines = {{ save = "60s", stop = "60s", start = "120s" }}
{more}
"""


def limit_open_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Runs(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def events(self):
        log = self.folder / "log.jsonl"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]  # the run may be writing the last one

    def resizes(self, *what):
        return [event for event in self.events() if event["event"] == "resize" and event["what"] in what]

    def log_of(self, name):
        return next((self.folder / "ration-output").rglob(f"{name}.log")).read_text()

    def run_jobs(self, text, done, *options):
        """Runs the jobs until `done()` holds; what ration has printed."""
        (self.folder / "jobs.toml").write_text(text)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}
        run = subprocess.Popen([os.environ["RATION_PROGRAM"], "run", "jobs.toml", "--log", "log.jsonl", *options], cwd=self.folder, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit_open_files)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        end = time.monotonic() + 60 + 40 * RESIZES
        while not done() and run.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        return run.communicate(timeout=support.PATIENCE)[0]


class Live(Runs):
    def test_random_sizes(self):
        self.assertNotIn("forked", self.resize("", *self.options()))

    def test_warm(self):
        """Launches by a fork server, with the same outcome."""
        self.assertIn("forked", self.resize('preload = ["torch"]', *self.options()))
        self.assertFalse([event for event in self.events() if event["event"] == "warning" and "fork server" in event["message"]])
        self.assertEqual(self.servers(), [])

    @staticmethod
    def options():
        backend = os.environ.get("RATION_TEST_BACKEND")
        return ["--backend", backend] if backend else []

    def servers(self):
        """Fork servers of this test's run that still exist."""
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"ration.fork_server" in (place / "cmdline").read_bytes() and (place / "cwd").resolve() == self.folder.resolve():
                    found.append(int(place.name))
        return found

    def resize(self, more, *options):
        """No step is lost, and no loss changes. How the ranks have PyTorch, by launch."""
        policy = f"policy = {json.dumps(os.environ['RATION_RANDOM_SIZES'])}\n"
        said = self.run_jobs(policy + HEAD + job("a", 1000000, 3, more), lambda: len(self.resizes("settled")) > RESIZES, *options)
        settled = [(event["from"], event["to"]) for event in self.resizes("settled")]
        self.assertGreater(len(settled), RESIZES, said)
        self.assertEqual(self.resizes("failed", "restored", "stuck"), [], said)
        losses = [(int(step), float(loss)) for step, loss in STEP.findall(self.log_of("a"))]
        self.assertEqual([step for step, _ in losses], list(range(1, len(losses) + 1)))  # none lost, none twice
        output = io.StringIO()
        with contextlib.redirect_stdout(output), unittest.mock.patch.object(sys, "argv", [JOB, str(len(losses))]):
            runpy.run_path(JOB)  # here, in one go
        whole = [float(loss) for _, loss in STEP.findall(output.getvalue())]
        furthest = max(abs(split / one - 1) for one, (_, split) in zip(whole, losses))
        print(f"{len(settled) - 1} resizes, {len(losses)} steps, furthest from the unresized loss: {furthest:.2g}; sizes {[to for _, to in settled]}")
        self.assertLess(furthest, 1e-3)
        self.assertEqual(set(re.findall(r"^(\d+) open files$", self.log_of("a"), re.MULTILINE)), {str(OPEN_FILES)})
        return re.findall("^(forked|imported)$", self.log_of("a"), re.MULTILINE)


class Batches(Runs):
    def test_a_job_trains_with_the_batch_that_goes_with_its_devices(self):
        """elastic_batch_dp: alone a job has all three devices, and then two jobs of the same profile share them."""
        profile = "speedup = [0, 1, 1.8, 2.5]\nbatch = [0, 40, 70, 100]\n"
        text = 'policy = "elastic_batch_dp"\nelastic_batch_dp = { interval = 1 }\n' + HEAD
        text += job("a", 400, 3, profile) + job("b", 30, 3, profile + 'at = "15s"')
        said = self.run_jobs(text, lambda: self.folder.joinpath("log.jsonl").exists() and "run_ended" in {e["event"] for e in self.events()})
        ended = {event["job"]: event for event in self.events() if event["event"] == "job_ended"}
        self.assertEqual({name: (event["how"], event["step"]) for name, event in ended.items()}, {"a": ("finished", 400), "b": ("finished", 30)}, said)
        batches = {"1": "40", "2": "70", "3": "100"}
        for name in ("a", "b"):
            begun = re.findall(r"^rank 0 of (\d) batch (\d+)$", self.log_of(name), re.MULTILINE)
            self.assertTrue(all(batches[ranks] == batch for ranks, batch in begun), begun)
            steps = [int(step) for step, _ in STEP.findall(self.log_of(name))]
            self.assertEqual(steps, list(range(1, len(steps) + 1)))
            if name == "a":
                self.assertEqual(begun[0], ("3", "100"))
                self.assertLess(min(int(ranks) for ranks, _ in begun), 3)


if __name__ == "__main__":
    support.run_tests()
