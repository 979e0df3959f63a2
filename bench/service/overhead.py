#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What does a service cost a trainer that reports each step, on the same core?

    bench/service/overhead.py [--program build/release/bin/ration] [--seconds 8] [--repetitions 5]

A trainer of steps of about 2 ms runs by itself, and as a job of a service under the policy none. Both share one core, so each cycle of the
service is one that the trainer lacks. They alternate; the figure is the median of the ratios of neighbours. Control: a service with a tick
of 10 ms and 500 jobs that sleep, where a cost has to show. Exit code: 0, 1 if the cost is above 0.5 % or the control shows less than twice
as much.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MOST = 0.005  # of the steps in a second
IDLE = 500
TRAINER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from ration import progress
with progress.open() as job:
    job.hello(world=1, threads=1)
    job.phase("train")
    step, end = 0, time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        step += 1
        sum(range(100000))
        job.step(step, 1 / step)
open(sys.argv[3], "w").write(str(step))
"""


def command(options: argparse.Namespace, out: pathlib.Path) -> list[str]:
    return [sys.executable, "-c", TRAINER, str(HERE.parents[1] / "python"), str(options.seconds), str(out)]


class Service:
    """A service in a folder of its own, under the policy none."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path, tick: str) -> None:
        self.options, self.folder = options, folder
        folder.mkdir()
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder))
        (folder / "service.toml").write_text(f'policy = "none"\ntick = "{tick}"\n')
        self.process = subprocess.Popen([options.program, "serve", "--state", folder / "state", "--config", folder / "service.toml", "--max-running", "512",
                                         "--backend", "process"], env=self.environment, stdout=subprocess.PIPE, text=True)
        if "ready" not in self.process.stdout.readline():
            sys.exit("overhead.py: the service did not start; start ration serve by hand to see why")

    def call(self, name: str, *words: str) -> str:
        return subprocess.run([self.options.program, name, "--state", self.folder / "state", *words], env=self.environment, check=True, capture_output=True, text=True).stdout

    def steps(self) -> int:
        out = self.folder / "steps"
        out.unlink(missing_ok=True)
        label = self.call("submit", "--", *command(self.options, out)).strip()
        self.call("wait", label)
        return int(out.read_text())

    def add_idle_jobs(self) -> None:
        self.call("submit", "--name", "idle", "--array", f"1-{IDLE}", "--", "sleep", "100000")
        while len(json.loads(self.call("list", "--json"))["jobs"]) < IDLE:
            time.sleep(0.5)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for record in (self.folder / "ration").glob("*/run.json"):
            for job in json.loads(record.read_text())["run"]["jobs"]:
                if job["pid"] > 0:
                    os.killpg(job["pid"], signal.SIGKILL)


def alone(options: argparse.Namespace, folder: pathlib.Path) -> int:
    subprocess.run(command(options, folder / "alone"), check=True)
    return int((folder / "alone").read_text())


def cost(options: argparse.Namespace, folder: pathlib.Path, service: Service, name: str, repetitions: int) -> float:
    """The part of the steps that the service costs, as a median over pairs."""
    pairs = []
    for _ in range(repetitions):
        pairs.append((alone(options, folder), service.steps()))
    parts = [1 - beside / by_itself for by_itself, beside in pairs]
    median = statistics.median(parts)
    print(json.dumps({"row": name, "steps": pairs, "cost_percent": [round(100 * part, 2) for part in sorted(parts)], "median_percent": round(100 * median, 2)}), flush=True)
    return median


def measure(options: argparse.Namespace, folder: pathlib.Path) -> bool:
    found = {}
    for name, tick, idle in (("service", "500ms", False), ("control: tick 10ms, 500 idle jobs", "10ms", True)):
        service = Service(options, folder / tick, tick)
        try:
            if idle:
                service.add_idle_jobs()
            found[tick] = cost(options, folder, service, name, options.repetitions if not idle else max(1, options.repetitions // 2))
        finally:
            service.end()
    return found["500ms"] <= MOST and found["10ms"] >= 2 * MOST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as name:
        sys.exit(0 if measure(options, pathlib.Path(name)) else 1)


main()
