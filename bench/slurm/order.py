#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The ends of 100 jobs in Slurm's own order, and in the order of policies of ration: four nodes with four simulated GPUs each, on this machine.

    bench/run.sh slurm.order [--jobs 100] [--policies sjf,fifo] [--seed 1]

All jobs wait in the queue before the first starts. A job sleeps; its number of GPUs and its seconds are random, and its comment has the
seconds. Slurm itself gets a time limit of one minute, the least that it accepts. The same jobs are run once for each column. `fifo` is the control.
"""
import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "slurm"))
import lab  # noqa: E402  pylint: disable=wrong-import-position

SHORT = 4.0  # seconds; a job up to this counts as short


def draw_jobs(count: int, seed: int) -> list[tuple[int, float]]:
    """(GPUs, seconds): three of four jobs are short."""
    rng = random.Random(seed)
    return [(rng.choice((1, 1, 2, 4)), round(rng.uniform(1, SHORT) if rng.random() < 0.75 else rng.uniform(10, 25), 1)) for _ in range(count)]


def run_queue(options: argparse.Namespace, policy: str) -> list[tuple[float, float]]:
    """(seconds of the job, seconds from the first decision to its end) of each job. An empty policy selects Slurm's own order."""
    jobs = draw_jobs(options.jobs, options.seed)
    with tempfile.TemporaryDirectory() as name, lab.Lab(pathlib.Path(name, "lab")) as slurm:
        ends = pathlib.Path(name, "ends")
        numbers = [slurm.submit(f"sleep {seconds}; echo {seconds} $(date +%s.%N) >> {ends}", "--hold", f"--gres=gpu:{gpus}", "-c1", "--time=1",
                                f"--comment=ration seconds={seconds}") for gpus, seconds in jobs]
        began = time.time()
        if policy:
            subprocess.run([sys.executable, "-m", "ration.slurm", policy, "--apply", "--every", "0.5", "--ration", options.program], check=True,
                           env={**slurm.environment, "PYTHONPATH": str(ROOT / "python")}, stdout=subprocess.DEVNULL)
        else:
            slurm.run("scontrol", "release", ",".join(map(str, numbers)))
            while slurm.run("squeue", "-h"):
                time.sleep(0.5)
        lines = [line.split() for line in ends.read_text().splitlines()]
    if len(lines) != len(jobs):
        raise RuntimeError(f"{len(lines)} of {len(jobs)} jobs have ended")
    return [(float(seconds), float(end) - began) for seconds, end in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--jobs", default=100, type=int)
    parser.add_argument("--policies", default="sjf,fifo", type=lambda text: text.split(","))
    parser.add_argument("--seed", default=1, type=int)
    options = parser.parse_args()
    if lab.reason_against():
        print(f"slurm.order: {lab.reason_against()}", file=sys.stderr)
        return 77
    print("| order | mean end, s | mean end of short jobs, s | last end, s |\n|---|--:|--:|--:|")
    for policy in ["", *options.policies]:
        ends = run_queue(options, policy)
        means = [statistics.mean(end for seconds, end in ends if seconds <= limit) for limit in (60, SHORT)]
        print(f"| {'ration, `' + policy + '`' if policy else 'of Slurm'} | {means[0]:.1f} | {means[1]:.1f} | {max(end for _, end in ends):.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
