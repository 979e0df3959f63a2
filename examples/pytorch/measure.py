# SPDX-License-Identifier: BSL-1.0
"""Runs models of jobs.toml alone on one core and prints when each reaches its targets, judged on the mean of the last reports.

Times are in seconds from the launch of the process. CPU time is printed beside the clock: the two agree when the core was free.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import subprocess
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


@dataclasses.dataclass
class Sample:
    step: int
    clock: float
    cpu: float
    loss: float


def boot_clock() -> float:
    return os.times().elapsed


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (proc(5), /proc/PID/stat, fields 14 and 15)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(command: list[str], mean_of: int) -> list[Sample]:
    """One run to its end; a sample per report once there are `mean_of` of them, each with their mean loss."""
    window = collections.deque(maxlen=mean_of)
    samples = []
    begun = boot_clock()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if not line.startswith("step="):
                continue
            step, loss = (field.partition("=")[2] for field in line.split())
            window.append(float(loss))
            if len(window) == mean_of:
                samples.append(Sample(int(step), boot_clock() - begun, cpu_seconds(process.pid), sum(window) / mean_of))
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    return samples


def first_at_most(samples: list[Sample], loss: float) -> Sample | None:
    return next((sample for sample in samples if sample.loss <= loss), None)


def cell(sample: Sample | None) -> str:
    return f"{sample.clock:.1f} ({sample.cpu:.1f})" if sample else "never"


def measure(job: dict, seed: int, curve: int) -> None:
    target = job["target"]["loss"]
    command = job["command"][: job["command"].index("--seed")] + ["--seed", str(seed)]
    samples = run(command, target["mean_of"])
    reached = [first_at_most(samples, target["acceptable"]), first_at_most(samples, target["objective"]), samples[-1]]
    print(f"| {job['name']} | {seed} | {' | '.join(map(cell, reached))} | {samples[-1].loss:.4g} |", flush=True)
    for sample in samples[::curve] if curve else []:
        print(f"    {sample.step:6} {sample.clock:6.1f} {sample.cpu:6.1f} {sample.loss:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--curve", type=int, default=0, metavar="N", help="also print every Nth sample: step, clock, CPU, loss")
    asked = parser.parse_args()
    os.sched_setaffinity(0, {asked.core})
    print("| model | seed | acceptable after, s (CPU) | objective after, s (CPU) | end, s (CPU) | last loss |")
    print("|---|---|---|---|---|---|")
    for job in tomllib.loads((FOLDER / "jobs.toml").read_text())["job"]:
        if not asked.names or job["name"] in asked.names:
            for seed in asked.seeds:
                measure(job, seed, asked.curve)


if __name__ == "__main__":
    main()
