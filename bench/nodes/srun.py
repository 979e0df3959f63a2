#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The time from an order to its effect on a job, with the agent behind srun and without it, in turns in the same run.

    bench/run.sh nodes.srun [--short]

This process is the controller of two agents `ration node` on this machine: one is its child, the other one a step of a Slurm allocation (tests/slurm/lab.py, which
needs root). It prints two times of each:

- confirm: from a list of jobs that is sent until the report of the node that has acted on it
- start: from a list that gives a job its devices until the report that its process was started on them

Exit code: 0, 1 if srun adds more than 2 ms to the median of either, 77 if this machine cannot have the lab.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "slurm"))
import lab  # noqa: E402

LIMIT = 2.0  # ms
JOBS = """devices = { count = 2, cpu = 0.5 }
[[job]]
name = "a"
command = ["sleep", "3600"]
target = { loss = { objective = 0.1 } }
bounds = { gpu = { min = 1, max = 2 } }
"""


@dataclasses.dataclass
class Agent:
    """`ration node` as the child of a command, and the conversation with it."""

    name: str
    command: list[str]
    folder: pathlib.Path
    environment: dict[str, str]
    confirm: list[float] = dataclasses.field(default_factory=list)  # ms
    start: list[float] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.sent = self.list = self.launches = 0
        self.clock = 0
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment)
        self.send("hello", version=1, run="bench", node=self.name, lease=300 * 10**9, beat=10**9, directory=str(self.folder), output=str(self.folder),
                  marker="jobs.toml")
        self.send("file", text=JOBS)
        self.send("begin", backend="auto", cpus=1, devices=2)
        self.until(lambda message: message["op"] == "hello")

    def send(self, op: str, **members) -> None:
        self.sent += 1
        self.process.stdin.write(json.dumps({"op": op, "s": "bench", "q": self.sent, "clock": self.clock, **members}).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, condition) -> dict:
        while line := self.process.stdout.readline():
            message = json.loads(line)
            self.clock = max(self.clock, message["clock"])
            if message["op"] == "error":
                raise RuntimeError(f"{self.name}: {message['message']}")
            if condition(message):
                return message
        raise RuntimeError(f"{self.name}: its command has ended with {self.process.wait()}")

    def send_list(self, has_job: bool) -> None:
        self.list += 1
        part = {"nodes": 1, "node_rank": 0, "rank": 0, "world": 0, "master": "", "port": 0}
        job = {"job": "a", "incarnations": self.launches, "gpu": 1, "batch": 0, **part}
        self.send("jobs", grants=self.list, more=False, jobs=[job] if has_job else [])

    def until_confirmed(self) -> dict:
        return self.until(lambda message: message["op"] == "state" and message["grants"] == self.list)

    def measure_start(self) -> None:
        """The job is ended first, if it runs."""
        self.send_list(False)
        state = self.until_confirmed()
        while state["jobs"]:
            state = self.until(lambda message: message["op"] == "state")
        began = time.monotonic()
        self.send_list(True)
        self.until(lambda message: message["op"] == "event" and message["event"]["event"] == "job_started")
        self.start.append((time.monotonic() - began) * 1e3)
        self.launches += 1

    def measure_confirm(self) -> None:
        began = time.monotonic()
        self.send_list(True)
        self.until_confirmed()
        self.confirm.append((time.monotonic() - began) * 1e3)

    def end(self) -> None:
        self.send("end", kill=True)
        self.until(lambda message: message["op"] == "ended")
        self.process.stdin.close()
        self.process.wait()


def measure(program: str, folder: pathlib.Path, cluster: lab.Lab, starts: int, confirms: int) -> list[Agent]:
    (folder / "runtime").mkdir(mode=0o700)
    (folder / "jobs.toml").write_text(JOBS)
    environment = {**cluster.environment, "XDG_RUNTIME_DIR": str(folder / "runtime")}
    cluster.run("salloc", "--quiet", "--nodes=1", "--nodelist=n1", "--no-shell", "--job-name=bench")
    job = cluster.run("squeue", "--noheader", "--name=bench", "--format=%i").strip()
    srun = ["srun", "--quiet", f"--jobid={job}", "--nodes=1", "--ntasks=1", "--nodelist=n1", "--overlap", "--mem=0", "--mpi=none", "--export=ALL"]
    agents = [Agent("here", [program, "node"], folder, environment), Agent("srun", [*srun, program, "node"], folder, environment)]
    for count, method in ((starts, Agent.measure_start), (confirms, Agent.measure_confirm)):
        for _ in range(count):
            for agent in agents:
                method(agent)
    for agent in agents:
        agent.end()
    cluster.run("scancel", job)
    return agents


def percentile_99(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * 99 // 100)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--short", action="store_true", help="few repetitions")
    options = parser.parse_args()
    if reason := lab.reason_against():
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with lab.Lab(folder / "lab") as cluster:
            agents = measure(options.program, folder, cluster, *((3, 10) if options.short else (50, 1000)))
    print("| | agent | samples | median, ms | p99, ms |\n|---|---|--:|--:|--:|")
    added = {}
    for figure in ("confirm", "start"):
        for agent in agents:
            times = getattr(agent, figure)
            print(f"| {figure} | {agent.name} | {len(times)} | {statistics.median(times):.2f} | {percentile_99(times):.2f} |")
        here, step = (statistics.median(getattr(agent, figure)) for agent in agents)
        added[figure] = step - here
    print("\n" + "; ".join(f"srun adds {more:.2f} ms to the median of {figure}" for figure, more in added.items()))
    return 1 if max(added.values()) > LIMIT and not options.short else 0


if __name__ == "__main__":
    sys.exit(main())
