# SPDX-License-Identifier: BSL-1.0
"""Runs jobs alone on one core and prints when each reaches its targets, from the same messages that ration gets.

A job is judged as ration judges it: on the mean of its last `mean_of` losses, each message weighted by the losses that it
covers. Times are in seconds from the launch of the
process; the CPU time beside the clock is what the job used itself, whatever else the core had to do.
"""

import argparse
import collections
import os
import pathlib
import socket
import subprocess
import tempfile
import tomllib
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = ROOT / "examples" / "quickstart" / "jobs.toml"


class Sample(typing.NamedTuple):
    step: int
    clock: float
    cpu: float
    loss: float  # mean of the last losses


def now() -> float:
    return os.times().elapsed


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (proc(5), /proc/PID/stat, fields 14 and 15)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def listen(folder: str) -> tuple[socket.socket, dict]:
    """A socket for progress messages, and the environment that leads a job to it."""
    inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    inbox.bind(f"{folder}/progress")
    inbox.settimeout(60)
    return inbox, os.environ | {"RATION_PROGRESS": f"unix:{folder}/progress", "RATION_JOB": "measured", "RATION_INCARNATION": "1",
                                "RATION_TOKEN": "0" * 32}


class Window:
    """The newest messages that together cover at least `mean_of` losses."""

    def __init__(self, mean_of: int):
        self.mean_of, self.messages = mean_of, collections.deque()

    def add(self, loss: float, count: int) -> None:
        self.messages.append((loss, min(count, self.mean_of)))
        while self.losses() - self.messages[0][1] >= self.mean_of:
            self.messages.popleft()

    def losses(self) -> int:
        return sum(count for _, count in self.messages)

    def mean(self) -> float:
        return sum(loss * count for loss, count in self.messages) / self.losses()


def run(command: list[str], mean_of: int) -> list[Sample]:
    """One run to its end; a sample per message once the window is full."""
    window = Window(mean_of)
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        inbox, environment = listen(folder)
        begun = now()
        with inbox, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
            while (words := inbox.recv(2048).decode().split())[1] != "bye":
                fields = dict(word.split("=", 1) for word in words[2:])
                if words[1] == "step":
                    window.add(float(fields["l"]), int(fields["c"]))
                    if window.losses() >= mean_of:
                        samples.append(Sample(int(fields["s"]), now() - begun, cpu_seconds(process.pid), window.mean()))
    if process.returncode != 0 or not samples:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode} after {len(samples)} samples")
    return samples


def cell(sample: Sample | None) -> str:
    return f"{sample.clock:.1f} ({sample.cpu:.1f}), step {sample.step}" if sample else "never"


def measure(job: dict, seed: int, curve: int) -> None:
    target = job["target"]["loss"]
    command = list(job["command"])
    command[command.index("--seed") + 1] = str(seed)
    samples = run(command, target["mean_of"])
    reached = [next((s for s in samples if s.loss <= target[tier]), None) for tier in ("acceptable", "objective")]
    print(f"| {job['name']} | {seed} | {' | '.join(map(cell, [*reached, samples[-1]]))} | {samples[-1].loss:.4g} |", flush=True)
    for sample in samples[::curve] if curve else []:
        print(f"    {sample.step:6} {sample.clock:6.1f} {sample.cpu:6.1f} {sample.loss:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="jobs (default: all)")
    parser.add_argument("--jobs", type=pathlib.Path, default=JOBS, help="file of jobs (default: the quickstart's)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--curve", type=int, default=0, metavar="N", help="also print every Nth sample: step, clock, CPU, loss")
    asked = parser.parse_args()
    os.sched_setaffinity(0, {asked.core})
    print("| job | seed | Acceptable after, s (CPU) | Objective after, s (CPU) | end, s (CPU) | last mean |")
    print("|---|---|---|---|---|---|")
    for job in tomllib.loads(asked.jobs.read_text())["job"]:
        if not asked.names or job["name"] in asked.names:
            for seed in asked.seeds:
                measure(job, seed, asked.curve)


if __name__ == "__main__":
    main()
