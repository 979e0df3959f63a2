#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Steps per second of all jobs together, with the number of threads and the way of waiting that `ration run` gives them, beside fixed settings.

    bench/run.sh threads [--models cnn,lstm,transformer] [--jobs 1,2,4,8] [--seconds 4] [--rounds 3] [--runtime /usr/lib/x86_64-linux-gnu/libomp.so.5]

The settings take turns in each round, and the table has medians. The last column is the default over the best fixed setting. `--runtime` is an OpenMP
runtime that is loaded instead of the one that PyTorch is linked with. `limited` in the column of jobs: two jobs, and a policy that moves their limits.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # PyTorch is a package of the system
# Defaults of the runtimes: threads spin for 3 ms (libgomp, about 300 000 spins) or 200 ms (LLVM) at a barrier.
SPINNING = {"GOMP_SPINCOUNT": "300000", "KMP_BLOCKTIME": "200"}
SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
CORES = str(len(os.sched_getaffinity(0)))
FIXED = {"1 thread": {"OMP_NUM_THREADS": "1"}, "all cores, spinning": {"OMP_NUM_THREADS": CORES, **SPINNING},
         "all cores, sleeping": {"OMP_NUM_THREADS": CORES, **SLEEPING}}
SETTINGS = {"default": {}, **FIXED}


class WrongAnswer(Exception):
    """A job computed something else than the others."""


def jobs_file(folder: pathlib.Path, model: str, jobs: int, policy: str, environment: dict, seconds: float) -> str:
    entries = [f'policy = "{policy}"\ntick = "250ms"\n']
    for number in range(jobs):
        command = [PYTHON, str(HERE / "train.py"), model, str(folder), str(number), str(jobs), str(seconds)]
        variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in environment.items())
        entries.append(f'[[job]]\nname = "j{number}"\ncommand = {json.dumps(command)}\nenvironment = {{ {variables} }}\n'
                       "target = { loss = { acceptable = 0.0 } }\n")
    return "".join(entries)


def measure(options: argparse.Namespace, model: str, jobs: int, policy: str, environment: dict) -> tuple[float, float]:
    """Steps per second of all jobs together, and the loss of each after its first steps, which must be the same."""
    if options.runtime:
        environment = {**environment, "LD_PRELOAD": options.runtime}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "jobs.toml").write_text(jobs_file(folder, model, jobs, policy, environment, options.seconds))
        subprocess.run([options.program, "run", "jobs.toml", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       env={key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_", "KMP_"))} | {"XDG_RUNTIME_DIR": name})
        results = [(folder / "ration-output" / "latest" / f"j{number}.log").read_text().split("result ")[1].split() for number in range(jobs)]
    losses = {round(float(loss), 3) for _, loss in results}
    if len(losses) != 1:
        raise WrongAnswer(f"{model}: {jobs} jobs with one seed have the losses {sorted(losses)}")
    return sum(float(rate) for rate, _ in results), losses.pop()


def row(options: argparse.Namespace, model: str, jobs: int, policy: str) -> dict[str, float]:
    rates: dict[str, list[float]] = {name: [] for name in SETTINGS}
    losses = set()
    for _ in range(options.rounds):
        for name, environment in SETTINGS.items():
            rate, loss = measure(options, model, jobs, policy, environment)
            rates[name].append(rate)
            losses.add(loss)
    if len(losses) != 1:
        raise WrongAnswer(f"{model}: the settings lead to different losses: {sorted(losses)}")
    return {name: statistics.median(values) for name, values in rates.items()}


def print_table(options: argparse.Namespace) -> None:
    print(f"steps per second of all jobs together on {CORES} cores, medians of {options.rounds}")
    print(f"{'model':<12} {'jobs':>7}" + "".join(f" {name:>20}" for name in SETTINGS) + f" {'default / best fixed':>21}")
    cases = [(str(jobs), jobs, "none") for jobs in options.jobs] + [("limited", 2, "flowcon")]
    for model in options.models:
        for label, jobs, policy in cases:
            rates = row(options, model, jobs, policy)
            best = max(rates[name] for name in FIXED)
            print(f"{model:<12} {label:>7}" + "".join(f" {rate:>20.1f}" for rate in rates.values()) + f" {rates['default'] / best:>21.2f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--models", default="cnn,lstm,transformer", type=lambda text: text.split(","))
    parser.add_argument("--jobs", default="1,2,4,8", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--seconds", default=4.0, type=float)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--runtime", default="", help="path of an OpenMP runtime")
    options = parser.parse_args()
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("threads: PyTorch is not installed; run cmake/packages.sh pytorch", file=sys.stderr)
        return 77
    try:
        print_table(options)
    except WrongAnswer as wrong:
        print(f"threads: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
