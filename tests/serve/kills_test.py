# SPDX-License-Identifier: BSL-1.0
"""One process of a service or of its job is killed at each stage: no job is lost or runs twice, and none loses more steps than
since its last durable save. The matrix is FfDL's (Jayaram et al., Middleware 2019, section 5.6), with the phases of a resize.

RATION_KILL_CASES: cases of the matrix, by RATION_SERVE_SEED; RATION_KILL_MOMENTS: kills at random moments."""
import contextlib
import itertools
import json
import os
import pathlib
import random
import signal
import sys
import time
import unittest

from support import ServiceTest

VICTIMS = ("daemon", "worker", "first process", "rank 0", "other rank", "all ranks")
RESIZE = ("saving", "stopping", "clearing", "starting")
STAGES = ("queued", "launching", "training", "saving", "storing", *(f"resize: {phase}" for phase in RESIZE))
CASES = [(victim, stage) for victim, stage in itertools.product(VICTIMS, STAGES) if stage != "queued" or victim in VICTIMS[:2]]
SEED = int(os.environ.get("RATION_SERVE_SEED", 7))
STEPS = 100
SCRIPT = pathlib.Path(__file__).with_name("ranks_job.py")
CONFIG = """policy = "{policy}"
loss_delta_ratio = {{ residence = 0, window = 20 }}
fallback = "drf"
devices = {{ count = 2, cpu = 0.1 }}
tick = "50ms"
"""
JOB = """[[job]]
name = "{name}"
command = {command}
target = {{ loss = {{ objective = 0 }} }}
at_objective = "continue"
bounds = {{ gpu = {{ min = {least}, max = {most} }} }}
restart_cost = "100ms"
"""


class Kills(ServiceTest):
    def start(self, *options: str, backend: str = "process") -> None:
        config = self.folder / "service.toml"
        config.write_text(CONFIG.format(policy=f"{os.environ['RATION_SHIPPED']}/loss_delta_ratio.so"))
        super().start("--config", str(config), *options, backend=backend)

    def submit_ranks(self, name: str, most: int = 2, steps: int = STEPS) -> str:
        file = self.folder / f"{name}.toml"
        file.write_text(JOB.format(name=name, command=json.dumps([sys.executable, str(SCRIPT), str(steps)]), least=1, most=most))
        return self.submit("--retries", "20", str(file))

    def lines(self, label: str) -> list[list[str]]:
        log = self.folder / f"{label}.log"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def pids(self, label: str) -> list[int]:
        """The first process, rank 0 and the others of the last launch."""
        starts = [line for line in self.lines(label) if line[0] == "starts"]
        return [int(pid) for pid in starts[-1][2:]] if starts else []

    def activity(self, label: str) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / f"{label}.at").read_text()
        return ""

    def resize_phase(self, label: str) -> str:
        for record in self.state.glob(".ration/*/run.json"):
            with contextlib.suppress(ValueError, FileNotFoundError):
                return next((job.get("phase") or "" for job in json.loads(record.read_text())["run"]["jobs"] if job["name"] == label), "")
        return ""

    def workers(self) -> list[int]:
        children = pathlib.Path(f"/proc/{self.service.pid}/task/{self.service.pid}/children").read_text().split()
        return [int(pid) for pid in children if "policy-worker" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode()]

    def kill_victim(self, victim: str, label: str) -> None:
        if victim == "daemon":
            self.kill()
            self.start()
            return
        pids = self.workers() if victim == "worker" else self.pids(label)
        if victim in ("first process", "rank 0", "other rank"):
            number = ("first process", "rank 0", "other rank").index(victim)
            pids = pids[number:number + 1]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def check_steps(self, label: str) -> None:
        """Each launch begins at the last durable save, the job ends once, and no two launches run at once."""
        saved = 0
        lines = self.lines(label)
        for number, line in enumerate(lines):
            self.assertNotEqual(line, ["runs", "twice"], (label, lines))
            if line[0] == "saved":
                saved = int(line[1])
            if line[0] == "starts":
                self.assertEqual(int(line[1]), saved, (label, number, lines))
            if line == ["done"] and number + 1 < len(lines):  # killed before its end was recorded: no step is repeated
                self.assertEqual([other[0] for other in lines[number + 1:number + 3]], ["starts", "done"], (label, lines))
        self.assertEqual(lines[-1], ["done"], (label, lines))

    def check_ends(self, *labels: str) -> None:
        for label in labels:
            self.ration("wait", label)
            job = self.job(label)
            self.assertEqual((job["stage"], job["exit_code"]), ("COMPLETED", 0), job)
            self.check_steps(label)
        self.assertEqual(sorted(job["label"] for job in json.loads(self.ration("status", "--json"))["jobs"]), sorted(labels))

    def reach(self, stage: str, label: str) -> list[str]:
        """Waits until the job is at the stage. Returns other jobs."""
        if stage == "queued":
            self.ration("drain")
            return []
        if not stage.startswith("resize"):
            wanted = {"saving": "saving", "storing": "STORING"}.get(stage, stage)
            self.wait_for(lambda: (self.job(label)["stage"] if stage == "storing" else self.activity(label)) in (wanted, "COMPLETED"), 0.002)
            return []
        self.wait_for(lambda: self.activity(label) == "training" and self.resize_phase(label) == "steady")
        other = self.submit_ranks("other", most=1, steps=20)
        # A phase may be shorter than the time between two looks
        phases = RESIZE[RESIZE.index(stage.split()[1]):]
        self.wait_for(lambda: self.resize_phase(label) in phases or self.lines(label)[-1] == ["done"], 0.0)
        return [other]

    def case(self, victim: str, stage: str) -> None:
        if stage == "queued":
            self.ration("drain")
        label = self.submit_ranks("job")
        others = self.reach(stage, label)
        self.kill_victim(victim, label)
        if stage == "queued":
            self.ration("drain", "--undo")
        self.check_ends(label, *others)

    def test_the_matrix(self) -> None:
        count = int(os.environ.get("RATION_KILL_CASES", len(CASES)))
        for victim, stage in random.Random(SEED).sample(CASES, count):
            with self.subTest(victim=victim, stage=stage):
                self.case(victim, stage)
            self.doCleanups()
            self.setUp()

    def test_random_moments(self) -> None:
        rng = random.Random(SEED)
        moments, labels = int(os.environ.get("RATION_KILL_MOMENTS", 200)), []
        for number in range(moments):
            if number % 5 == 0:
                labels.append(self.submit_ranks(f"j{number}"))
            time.sleep(rng.uniform(0, 0.4))
            running = [label for label in labels if self.pids(label)]
            self.kill_victim(rng.choice(VICTIMS if running else VICTIMS[:2]), rng.choice(running or labels))
            while sum(self.lines(label)[-1:] != [["done"]] for label in labels) > 3:
                time.sleep(0.05)
        self.check_ends(*labels)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
