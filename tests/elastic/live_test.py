# SPDX-License-Identifier: BSL-1.0
"""`ration run` and real training: a PyTorch job whose number of processes changes again and again, by the dice.

usage: live_test.py RESIZES    RATION_PROGRAM and RATION_DICE name the program and the policy
"""
import contextlib
import io
import json
import os
import pathlib
import re
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
JOBS = f"""policy = {json.dumps(os.environ["RATION_DICE"])}
devices = {{ count = 3, cpu = 0.6 }}
tick = "1s"

[[job]]
name = "a"
command = {json.dumps([sys.executable, "-m", "ration.ranks", JOB, "1000000", "0.02"])}
environment = {{ PYTHONPATH = {json.dumps(str(support.PACKAGE))}, PYTHONDONTWRITEBYTECODE = "1" }}
target = {{ loss = {{ objective = 1e-9 }} }}
bounds = {{ gpu = {{ min = 1, max = 3 }} }}
deadlines = {{ save = "60s", stop = "60s", start = "120s" }}
"""


class Live(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def events(self):
        log = self.folder / "log.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def resizes(self, *what):
        return [event for event in self.events() if event["event"] == "resize" and event["what"] in what]

    def run_jobs(self):
        """Runs the job until its size has changed so often; what ration has printed."""
        (self.folder / "jobs.toml").write_text(JOBS)
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}
        run = subprocess.Popen([os.environ["RATION_PROGRAM"], "run", "jobs.toml", "--log", "log.jsonl"], cwd=self.folder, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        end = time.monotonic() + 60 + 40 * RESIZES
        while len(self.resizes("settled")) <= RESIZES and run.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        return run.communicate(timeout=support.PATIENCE)[0]

    def test_random_sizes_lose_no_step_and_change_no_loss(self):
        said = self.run_jobs()
        settled = [(event["from"], event["to"]) for event in self.resizes("settled")]
        self.assertGreater(len(settled), RESIZES, said)
        self.assertEqual(self.resizes("failed", "restored", "stuck"), [], said)
        log = next((self.folder / "ration-output").rglob("a.log")).read_text()
        losses = [(int(step), float(loss)) for step, loss in STEP.findall(log)]
        self.assertEqual([step for step, _ in losses], list(range(1, len(losses) + 1)))  # none lost, none twice
        output = io.StringIO()
        with contextlib.redirect_stdout(output), unittest.mock.patch.object(sys, "argv", [JOB, str(len(losses))]):
            runpy.run_path(JOB)  # here, in one go
        whole = [float(loss) for _, loss in STEP.findall(output.getvalue())]
        furthest = max(abs(split / one - 1) for one, (_, split) in zip(whole, losses))
        print(f"{len(settled) - 1} resizes, {len(losses)} steps, furthest from the unresized loss: {furthest:.2g}; sizes {[to for _, to in settled]}")
        self.assertLess(furthest, 1e-3)


if __name__ == "__main__":
    support.run_tests()
