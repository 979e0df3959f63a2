#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Records how the losses of the example trainers fall, and how fast they train, into curves.csv and speeds.csv beside this file.

  bench/data/loss/record.py [--train build/release/bin/train] [--cpu-minutes 10] [--pytorch /usr/bin/python3]

One process at a time, on one thread. It does not record again what the files have already, so that a stopped run can continue; to
record everything again, delete both files first. README.md describes the columns.
"""

import argparse
import csv
import itertools
import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LINE = re.compile(r"step=(\d+) loss=(\S+)")
PERIOD = 0.1  # seconds: a process with a share of the processor runs for that share of each


class Run(typing.NamedTuple):
    model: str
    batch: int
    seed: int
    steps: int
    command: list[str]

    @property
    def key(self) -> tuple[str, ...]:
        return self.model, str(self.batch), str(self.seed)


# Model, its usual batch, steps in which it comes as far as the targets of examples/quickstart/jobs.toml and a bit further.
TRAINERS = (("softmax", 512, 4200), ("mlp", 128, 1700), ("vae", 64, 1200), ("rnn", 32, 1500))
SCRIPTS = (("torch-vae", "vae", 2000), ("torch-cnn", "cnn", 2000), ("torch-gru", "gru", 2000), ("torch-lstm-cfc", "lstm_cfc", 2000),
           ("torch-lstm-crf", "lstm_crf", 1000), ("torch-bidirectional-rnn", "bidirectional_rnn", 2000), ("torch-rnn", "rnn", 2000),
           ("torch-dynamic-rnn", "dynamic_rnn", 2000))
SHARES = (1.0, 0.5, 0.25)


def trainer_run(train: str, model: str, batch: int, seed: int, steps: int) -> Run:
    command = [train, model, "--seed", str(seed), "--batch", str(batch), "--steps", str(steps), "--report-every", str(max(steps // 100, 1))]
    return Run(model, batch, seed, steps, command)


def trainer_runs(train: str) -> list[Run]:
    """Three seeds with the usual batch, and a quarter of it and four times as much with one; those with more samples take fewer steps."""
    runs = [trainer_run(train, model, batch, 1, steps) for model, batch, steps in TRAINERS]
    runs += [trainer_run(train, model, batch // 4, 1, steps) for model, batch, steps in TRAINERS]
    runs += [trainer_run(train, model, batch, seed, steps) for seed in (2, 3) for model, batch, steps in TRAINERS]
    return runs + [trainer_run(train, model, batch * 4, 1, steps // 4) for model, batch, steps in TRAINERS]


def script_runs(python: str) -> list[Run]:
    return [Run(model, 64, 1, steps, [python, str(ROOT / "examples" / "pytorch" / f"{script}.py"), "--seed", "1", "--steps", str(steps)])
            for model, script, steps in SCRIPTS]


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def with_steps(run: Run, steps: int) -> list[str]:
    command = [*run.command]
    command[command.index("--steps") + 1] = str(steps)
    return command


def losses_of(run: Run) -> tuple[list[tuple[int, float]], float]:
    """(step, mean loss since the one before), and the CPU seconds of the whole run."""
    before = cpu_seconds()
    done = subprocess.run(run.command, check=True, capture_output=True, text=True)
    return [(int(step), float(loss)) for step, loss in LINE.findall(done.stdout)], cpu_seconds() - before


def pause(process: subprocess.Popen, share: float) -> None:
    """Lets it run for `share` of every period until it ends, as a quota does."""
    while process.poll() is None:
        time.sleep(PERIOD * share)
        process.send_signal(signal.SIGSTOP)
        time.sleep(PERIOD * (1 - share))
        process.send_signal(signal.SIGCONT)


def seconds_of(run: Run, steps: int, share: float = 1) -> float:
    """CPU seconds of this number of steps, and of loading."""
    before = cpu_seconds()
    with subprocess.Popen(with_steps(run, steps), stdout=subprocess.DEVNULL) as process:
        if share < 1:
            pause(process, share)
    return cpu_seconds() - before


class Table:
    """A CSV file that grows; `done` are the first columns of what is in it."""

    def __init__(self, name: str, titles: str, key: int):
        self.path, self.done = HERE / name, set()
        if not self.path.exists():
            self.path.write_text(titles + "\n", encoding="utf-8")
        with open(self.path, encoding="utf-8", newline="") as file:
            self.done = {tuple(row[:key]) for row in list(csv.reader(file))[1:]}

    def add(self, rows) -> None:
        with open(self.path, "a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def add_speed(run: Run, share: float, seconds: float, steps: int, speeds: Table) -> None:
    """Loading is left out: it is what a run of a single step takes."""
    speed = (steps - 1) / (seconds - seconds_of(run, 1))
    speeds.add([(run.model, run.batch, share, format(speed, ".4g"))])


def record(run: Run, curves: Table, speeds: Table) -> None:
    losses, seconds = losses_of(run)
    if run.seed == 1:
        add_speed(run, 1.0, seconds, run.steps, speeds)
    curves.add([*run.key, step, format(loss, ".6g")] for step, loss in losses)
    print(f"{' '.join(run.key)}: {losses[-1][1]:.4g} after {run.steps} steps, {seconds:.1f} CPU seconds", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default=str(ROOT / "build" / "release" / "bin" / "train"))
    parser.add_argument("--pytorch", default="", help="a python3 that has PyTorch; without it only the trainers in C++ are recorded")
    parser.add_argument("--cpu-minutes", type=float, default=10, help="begin no run after so much CPU time")
    asked = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    curves, speeds = Table("curves.csv", "model,batch,seed,step,loss", 3), Table("speeds.csv", "model,batch,share,steps_per_core_second", 3)
    trainers, scripts = trainer_runs(asked.train), script_runs(asked.pytorch) if asked.pytorch else []
    for run in [*trainers, *scripts]:
        if run.key not in curves.done and cpu_seconds() < 60 * asked.cpu_minutes:
            record(run, curves, speeds)
    for run, share in itertools.product(trainers[:len(TRAINERS)], SHARES):
        if (run.model, str(run.batch), str(share)) not in speeds.done and cpu_seconds() < 60 * asked.cpu_minutes:
            add_speed(run, share, seconds_of(run, run.steps // 5, share), run.steps // 5, speeds)
    print(f"{cpu_seconds():.0f} CPU seconds in all")


if __name__ == "__main__":
    main()
