#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""How much CPU time does `ration serve` use beside a trainer that reports each step?

    bench/run.sh service.overhead [--program build/release/bin/ration] [--seconds 20] [--backend cgroup] [--short]

CPU time of all threads of the service by the kernel's account (/proc/PID/task/*/schedstat), in percent of one core. The step rate of a trainer beside a service would vary by more than the service costs.

  idle          the service without a job
  silent        a trainer that makes 100 steps in a second and reports none
  100 steps/s   a trainer that reports each step with the client of python/
  1000 steps/s  the same
  control       a tick of 10 ms and 512 jobs that sleep: has to show

Exit code: 0, 1 if the service gets no step of a trainer, if a trainer costs more than 0.5 % of a core, or if the control does
not cost ten times as much as a trainer. --short: short times and 32 jobs, and the control has to cost more than a trainer.
"""
import argparse
import collections.abc
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time

from service import Service

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 0.5  # % of a core, of a trainer
SHOWS = 10  # times the cost of a trainer

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
        """Seconds of CPU time of the service."""
        tasks = pathlib.Path(f"/proc/{self.service.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def percent(self, seconds: float) -> tuple[float, float]:
        """Percent of a core that the service uses, and the steps in a second that it gets."""
        steps, cpu, begin = self.steps(), self.cpu(), time.monotonic()
        time.sleep(seconds)
        cpu, passed = self.cpu() - cpu, time.monotonic() - begin
        return 100 * cpu / passed, (self.steps() - steps) / passed


@contextlib.contextmanager
def measured(options: argparse.Namespace, tick: str, jobs: list[list[str]]) -> collections.abc.Iterator[Measured]:
    """Until the end of the `with` block."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "service.toml").write_text(f'tick = "{tick}"\n')
        service = Service(options.program, folder, "--config", str(folder / "service.toml"), "--max-running", str(max(1, len(jobs))), backend=options.backend)
        try:
            yield Measured(service, jobs)
        finally:
            service.end()


def trainer(rate: int, mode: str) -> list[str]:
    return [sys.executable, "-c", TRAINER, str(rate), mode]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--backend", choices=("process", "cgroup"), default="cgroup")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    seconds, sleepers = (1, 32) if options.short else (options.seconds, 512)
    rows = {"idle": ("500ms", []), "silent": ("500ms", [trainer(100, "silent")]), "100 steps/s": ("500ms", [trainer(100, "reports")]),
            "1000 steps/s": ("500ms", [trainer(1000, "reports")]), "control": ("10ms", [["sleep", "100000"]] * sleepers)}
    used, faults = {}, []
    for name, (tick, jobs) in rows.items():
        with measured(options, tick, jobs) as now:
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
    for fault in faults:
        print(f"overhead.py: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
