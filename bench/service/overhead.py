#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What does `ration serve` cost a trainer that reports each step?

    bench/run.sh service.overhead [--program build/release/bin/ration] [--seconds 20] [--backend cgroup] [--short]

First the CPU time of all threads of the service by the kernel's account (/proc/PID/task/*/schedstat), in percent of one core:

  idle          the service without a job
  silent        a trainer that makes 100 steps in a second and reports none
  100 steps/s   a trainer that reports each step with the client of python/
  1000 steps/s  the same, also without a limit: a part of the CPU is kept by looks at the CPU time of the job every 20 ms
  control       a tick of 10 ms and 512 jobs that sleep: has to show

Then the steps of a trainer that computes without a pause, in five repetitions of each, in turns. The trainer and the service are
bound to one CPU, so that the trainer loses what the service takes, and the policy `none` limits no job:

  alone         no service, no reports: the baseline of its repetition
  served        a job of the service that reports each step
  control       the same, with a tick of 10 ms and 511 jobs that sleep

Loss: of steps in a second, in percent of `alone`, as the median of the repetitions with the least and the greatest, between which
the true median is with a confidence of 94 %. Other programs on that CPU take steps too: `of_cpu` is the loss of steps for each second of CPU time
of trainer and service. A loss decides only if the least and the greatest are at most 1 point apart; otherwise only the CPU time does.

Exit code: 0, 1 if the service gets no step of a trainer, if a trainer costs more than 0.5 % of a core or of its steps, or if the
control does not cost ten times as much CPU time, or no steps. --short: short times, 32 jobs and one repetition, and the control only
has to cost more CPU time than a trainer.
"""
import argparse
import collections.abc
import contextlib
import json
import mmap
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from service import Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 0.5  # % of a core, and of the steps of a trainer
SHOWS = 10  # times the cost of a trainer
NOISE = 1.0  # points between repetitions, beyond which steps decide nothing
REPETITIONS = 5

TRAINER = """
import sys, time
from ration import progress
rate, reports = float(sys.argv[1]), sys.argv[2] == "reports"
with progress.open() as job:
    begin = time.monotonic()
    for step in range(1, 1 << 30):
        if reports:
            job.step(step, 1 / step)
        time.sleep(max(0, begin + step / rate - time.monotonic()))
"""

# Writes its pid and its steps into a file. A step takes about 5 ms of CPU time.
COMPUTING = """
import mmap, os, struct, sys
from ration import progress
with open(sys.argv[1], "r+b") as file, progress.open() as job:
    shown = mmap.mmap(file.fileno(), 16)
    for step in range(1, 1 << 30):
        total = 0
        for number in range(100_000):
            total += number * number
        job.step(step, 1 / step)
        struct.pack_into("qq", shown, 0, os.getpid(), step)
"""


def cpu_of(pid: int) -> float:
    """Seconds of CPU time of the threads of a process."""
    return sum(int(task.read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


class Measured:
    """A service with these jobs, which all run."""

    def __init__(self, service: Service, jobs: list[list[str]]) -> None:
        self.service = service
        for number, command in enumerate(jobs):
            service.submit(str(number), command, environment=[f"PYTHONPATH={ROOT / 'python'}"])
        while any(job["stage"] != "PROCESSING" for job in service.ask("GET", "/v1/jobs")[1]["jobs"]):
            time.sleep(0.2)

    def running(self) -> list[dict]:
        return self.service.ask("GET", "/v1/running")[1]["jobs"]

    def steps(self) -> int:
        return sum(job["step"] for job in self.running())

    def cpu(self) -> float:
        return cpu_of(self.service.process.pid)

    def percent(self, seconds: float) -> tuple[float, float]:
        """Percent of a core that the service uses, and the steps in a second that it gets."""
        steps, cpu, begin = self.steps(), self.cpu(), time.monotonic()
        time.sleep(seconds)
        cpu, passed = self.cpu() - cpu, time.monotonic() - begin
        return 100 * cpu / passed, (self.steps() - steps) / passed


@contextlib.contextmanager
def measured(options: argparse.Namespace, tick: str, jobs: list[list[str]], policy: str = "equal_share") -> collections.abc.Iterator[Measured]:
    """Until the end of the `with` block."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "service.toml").write_text(f'policy = "{policy}"\ntick = "{tick}"\n')
        service = Service(options.program, folder, "--config", str(folder / "service.toml"), "--max-running", str(max(1, len(jobs))), backend=options.backend)
        try:
            yield Measured(service, jobs)
        finally:
            service.end()


def trainer(rate: int, mode: str) -> list[str]:
    return [sys.executable, "-c", TRAINER, str(rate), mode]


class Trainer:
    """A trainer that computes without a pause: alone, or as the first job of a service."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "steps"
        self.path.write_bytes(bytes(16))
        self.command = [sys.executable, "-c", COMPUTING, str(self.path)]
        with open(self.path, "r+b") as file:
            self.shown = mmap.mmap(file.fileno(), 16)

    def state(self) -> tuple[int, int]:
        """Its pid and its steps."""
        return struct.unpack_from("qq", self.shown)

    def rates(self, seconds: float, service: int | None) -> dict[str, float]:
        """Its steps in a second, and in a second of CPU time of the trainer and the service."""
        while self.state()[1] < 20:
            time.sleep(0.05)
        pids = [pid for pid in (self.state()[0], service) if pid]
        cpu, steps, begin = sum(map(cpu_of, pids)), self.state()[1], time.monotonic()
        time.sleep(seconds)
        steps, passed, cpu = self.state()[1] - steps, time.monotonic() - begin, sum(map(cpu_of, pids)) - cpu
        return {"of_time": steps / passed, "of_cpu": steps / cpu}


def rates_alone(seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        trainer_alone = Trainer(pathlib.Path(name))
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "python")}
        with subprocess.Popen(trainer_alone.command, env=environment) as process:
            try:
                return trainer_alone.rates(seconds, None)
            finally:
                process.kill()


def rates_served(options: argparse.Namespace, seconds: float, tick: str, sleepers: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        trainer_served = Trainer(pathlib.Path(name))
        with measured(options, tick, [trainer_served.command] + [["sleep", "100000"]] * sleepers, policy="none") as now:
            return trainer_served.rates(seconds, now.service.process.pid)


def losses(options: argparse.Namespace, seconds: float, sleepers: int, repetitions: int) -> dict[str, dict]:
    """Of `served` and `control`, and of both measures of `Trainer.rates`: median, least and greatest loss in percent."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    seen: dict[str, dict[str, list[float]]] = {row: {"of_time": [], "of_cpu": []} for row in ("served", "control")}
    for _ in range(repetitions):
        alone = rates_alone(seconds)
        for row, tick, others in (("served", "500ms", 0), ("control", "10ms", sleepers)):
            rates = rates_served(options, seconds, tick, others)
            for measure, values in seen[row].items():
                values.append(100 * (1 - rates[measure] / alone[measure]))
    return {row: {measure: {"median": round(statistics.median(values), 2), "least": round(min(values), 2), "greatest": round(max(values), 2)}
                  for measure, values in measures.items()} for row, measures in seen.items()}


def faults_in(lost: dict[str, dict]) -> list[str]:
    """Of the losses that decide."""
    faults = []
    for measure in ("of_time", "of_cpu"):
        served, control = lost["served"][measure], lost["control"][measure]
        if served["greatest"] - served["least"] > NOISE:
            print(f"overhead.py: steps {measure} differ by more than {NOISE} points between repetitions: the CPU time decides", file=sys.stderr)
            continue
        if served["median"] > MOST:
            faults.append(f"a trainer loses more than {MOST} % of its steps {measure}")
        if control["median"] <= served["median"]:
            faults.append(f"the control costs a trainer no steps {measure}, so that this measures nothing")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--backend", choices=("process", "cgroup"), default="cgroup")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    seconds, sleepers = (1, 32) if options.short else (options.seconds, 512)
    rows = {"idle": ("500ms", []), "silent": ("500ms", [trainer(100, "silent")]), "100 steps/s": ("500ms", [trainer(100, "reports")]),
            "1000 steps/s": ("500ms", [trainer(1000, "reports")]), "1000 steps/s, no limit": ("500ms", [trainer(1000, "reports")]), "control": ("10ms", [["sleep", "100000"]] * sleepers)}
    used, faults = {}, []
    for name, (tick, jobs) in rows.items():
        with measured(options, tick, jobs, "none" if "no limit" in name else "equal_share") as now:
            while "steps" in name and now.steps() == 0:
                time.sleep(0.1)
            used[name], rate = now.percent(seconds)
        print(json.dumps({"row": name, "percent_of_a_core": round(used[name], 3), "steps_per_second": round(rate)}), flush=True)
        if "steps" in name and rate == 0:
            faults.append(f"{name}: the service got no step")
    dearest = max(used["100 steps/s"], used["1000 steps/s"])
    if used["control"] <= (1 if options.short else SHOWS) * dearest:
        faults.append("the control costs little more than a trainer, so that this measures nothing")
    if not options.short and dearest > MOST:
        faults.append(f"a trainer costs more than {MOST} % of a core")
    lost = losses(options, 0.3 if options.short else seconds, sleepers - 1, 1 if options.short else REPETITIONS)
    for row, loss in lost.items():
        print(json.dumps({"row": f"loss, {row}", **loss}), flush=True)
    faults += [] if options.short else faults_in(lost)
    for fault in faults:
        print(f"overhead.py: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
