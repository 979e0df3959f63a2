# SPDX-License-Identifier: BSL-1.0
"""A service is killed (SIGKILL) at calls drawn at random, while it starts, takes its jobs over, launches, and records ends. After each kill it starts again, with
its runtime folder kept, removed or another one, and mostly is killed once more. No job is lost, none runs twice, and no device is in two jobs.

RATION_CRASH_KILLS (20) kills under each backend, drawn by RATION_CRASH_SEED (1), RATION_CRASH_WORKERS (2) services at a time."""
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support import PATIENCE, RATION, ServiceTest, cgroups_can_be_written

KILLS, SEED = int(os.environ.get("RATION_CRASH_KILLS", 20)), int(os.environ.get("RATION_CRASH_SEED", 1))
WORKERS = int(os.environ.get("RATION_CRASH_WORKERS", 2))
DEVICES, UNFINISHED, MOST_CALLS = 2, 4, 250
CONFIG = f'policy = "loss_delta_ratio"\ndevices = {{ count = {DEVICES}, cpu = 0.2 }}\ntick = "50ms"\n'
# It has its device and its name alone while it lives
SCRIPT = ('echo $$ >> starts.$RATION_JOB; exec 8> lock.$RATION_JOB 9> lock.$RATION_DEVICES; flock -n 8 || echo $RATION_JOB >> twice; '
          'flock -n 9 || echo $RATION_JOB $RATION_DEVICES >> shared; sleep {}; echo $$ >> ends.$RATION_JOB')
JOB = """[[job]]
name = "j"
command = {}
target = {{ loss = {{ objective = 0 }} }}
bounds = {{ gpu = 1 }}
"""
RUNTIMES = ("kept", "removed", "changed")


class Crashing(ServiceTest):
    """One service, its jobs and its kills."""
    backend = "process"

    def setUp(self) -> None:
        super().setUp()
        self.kill()
        (self.folder / "service.toml").write_text(CONFIG)
        self.labels, self.kills, self.keys = [], collections.Counter(), itertools.count()

    def launch(self, crash: str = "") -> None:
        watched = {"LD_PRELOAD": os.environ["RATION_CRASH_POINTS"], "RATION_CRASH_AT": crash} if crash else {}
        with open(self.folder / "printed", "a", encoding="utf-8") as out:
            self.service = subprocess.Popen([RATION, "serve", "--state", self.state, "--backend", self.backend, "--config", "service.toml"], cwd=self.folder,
                                            env=self.environment | watched, stdout=out, stderr=out)

    def kill(self, how: int = signal.SIGKILL) -> None:
        self.service.send_signal(how)
        self.service.wait()
        for stream in (self.service.stdout, self.service.stderr):
            if stream:
                stream.close()

    def file(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def unfinished(self) -> int:
        return sum(not self.file(f"ends.{label}") for label in self.labels)

    def submit_with_key(self, dice: random.Random) -> None:
        """Again and again until the service has answered: it may have been killed before its answer."""
        number = next(self.keys)
        file = self.folder / f"{number}.toml"
        file.write_text(JOB.format(json.dumps(["/bin/sh", "-c", SCRIPT.format(round(dice.uniform(0.1, 1.5), 2))])))
        until = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run([RATION, "submit", "--state", self.state, "--key", f"key-{number}", file], cwd=self.folder, env=self.environment,
                                  capture_output=True, text=True, check=False, timeout=PATIENCE)
            if done.returncode == 0:
                return self.labels.append(done.stdout.strip())
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertLess(time.monotonic(), until, done.stderr)
            if self.service.poll() is not None:
                self.start_again(dice)

    def start_again(self, dice: random.Random) -> None:
        self.kills["by itself" if self.service.returncode != -signal.SIGKILL else "killed"] += 1
        runtime = dice.choice(RUNTIMES)
        if runtime == "removed":
            shutil.rmtree(self.folder / "run" / "ration", ignore_errors=True)
        if runtime == "changed":
            other = self.folder / f"run{self.kills.total()}"
            other.mkdir(mode=0o700)
            self.environment["XDG_RUNTIME_DIR"] = str(other)
        self.launch(f"any#{dice.randint(1, MOST_CALLS)}" if self.kills.total() < self.wanted else "")

    def attempt(self, dice: random.Random, wanted: int) -> None:
        self.wanted = wanted
        self.launch(f"any#{dice.randint(1, MOST_CALLS)}")
        while self.kills.total() < wanted:
            if self.service.poll() is not None:
                self.start_again(dice)
            elif self.unfinished() < UNFINISHED:
                self.submit_with_key(dice)
            else:
                time.sleep(0.02)
        self.check()

    def wrong(self) -> collections.Counter:
        """The number of jobs that are lost, that ran twice, and that had the device of another one. Pre: all have ended."""
        starts = {label: len(self.file(f"starts.{label}")) for label in self.labels}
        return collections.Counter(lost=sum(not self.file(f"ends.{label}") or self.job(label)["stage"] != "COMPLETED" for label in self.labels),
                                   twice=sum(number > 1 for number in starts.values()) + len(self.file("twice")), shared=len(self.file("shared")))

    def check(self) -> None:
        context = "".join(self.file("printed")[-40:])
        self.assertEqual(self.kills["by itself"], 0, f"it ended without a kill: {context}")
        for label in self.labels:
            self.wait_for(lambda label=label: self.service.poll() is None and self.job(label)["stage"] in ("COMPLETED", "FAILED", "HALTED"))
        jobs = "\n".join(str(self.job(label)) for label in self.labels if self.job(label)["stage"] != "COMPLETED")
        self.assertEqual(self.wrong().total(), 0, f"{self.wrong()}\n{jobs}\n{context}")
        listed = [job["label"] for job in json.loads(self.ration("status", "--json"))["jobs"]]
        self.assertEqual(sorted(listed), sorted(set(self.labels)), "a submission counts once")


class CrashTest(unittest.TestCase):
    def kill_services(self, backend: str) -> None:
        def attempt(worker: int) -> Crashing:
            case = Crashing()
            case.backend = backend
            case.setUp()
            self.addCleanup(case.doCleanups)
            case.attempt(random.Random(f"{SEED} {backend} {worker}"), KILLS // WORKERS)
            return case
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            cases = list(pool.map(attempt, range(WORKERS)))
        kills, jobs = sum(case.kills.total() for case in cases), sum(len(case.labels) for case in cases)
        wrong = sum((case.wrong() for case in cases), collections.Counter())
        print(f"{backend}: {kills} kills, {jobs} jobs: {wrong['lost']} lost, {wrong['twice']} twice, {wrong['shared']} with the device of another one", file=sys.stderr)

    def test_under_the_process_backend(self) -> None:
        self.kill_services("process")

    def test_under_cgroups(self) -> None:
        if not cgroups_can_be_written(dict(os.environ)):
            self.skipTest("no cgroup can be written here")
        self.kill_services("cgroup")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
