#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""AI4DL on real jobs: three PyTorch trainers under limits from phases, and under static limits.

    bench/run.sh published.ai4dl_live [--rounds 3] [--epochs 6]

A first run without limits is recorded, and 'ration measure phases' learns the phases of each trainer. Then each round runs the same trainers
under a static limit of one core, which holds no trainer back, under one of two thirds of a core, and under phase_limits. A core is reserved
while a limit grants it; a job without a limit reserves the one core of its bounds. Needs PyTorch for /usr/bin/python3.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from claims import at_most, conclude

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATION = os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration"))
PYTHON = "/usr/bin/python3"
TRAINERS = {"small": (0.05, 300, 64), "medium": (0.03, 400, 192), "large": (0.02, 500, 320)}  # wait in s, batches of an evaluation, MB of a save
UNLIMITED = 2**53  # millicores; larger amounts mean no limit
PERIOD, HORIZON, INTERVAL = 1, 5, 5  # seconds
# By name the policy, and the largest number of cores. Without its policy, phase_limits reserves as much as a static limit.
KINDS = {"static, 1 core": ("none", 1), "static, 0.67 cores": ("none", 0.67), "phase_limits": ("phase_limits", 1)}


def jobs_file(policy: str, most_cores: float, epochs: int, phases: bool) -> str:
    lines = [f'policy = "{policy}"', "cpus = 2", 'tick = "250ms"']
    if policy == "phase_limits":
        lines.append(f"phase_limits = {{ interval = {INTERVAL} }}")
    if phases:
        lines.append('phases = { models = "phases.json" }')
    for name, (wait, evaluation, save) in TRAINERS.items():
        words = [PYTHON, str(ROOT / "bench/published/ai4dl_trainer.py"), "--epochs", epochs, "--wait", wait, "--evaluation", evaluation, "--save", save]
        lines += ["[[job]]", f'name = "{name}"', f"command = {json.dumps([str(word) for word in words])}", "target = { loss = { objective = 0 } }",
                  f"bounds = {{ cpu = {{ min = 0.1, max = {most_cores} }} }}"]
    return "\n".join(lines) + "\n"


class Run:
    """The figures of one run, from its event log."""

    def __init__(self, log: pathlib.Path, most_cores: float) -> None:
        self.reserved = self.throttled = self.ran = 0.0  # core-seconds, seconds, seconds, over all jobs
        self.failed = 0
        started: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        before: tuple[float, dict] | None = None
        for line in log.read_text().splitlines():
            event = json.loads(line)
            at = event["t"] / 1e9
            if event["event"] == "job_started":
                started[event["job"]] = at
            elif event["event"] == "job_ended":
                self.seconds[event["job"]] = at - started[event["job"]]
                self.failed += event.get("how") != "finished"
            elif event["event"] == "decision":
                if before is not None:
                    self.add(at - before[0], before[1], most_cores)
                before = at, event["columns"]

    def add(self, seconds: float, columns: dict, most_cores: float) -> None:
        for row, state in enumerate(columns["jobs/state"]):
            if state != 1:  # does not run
                continue
            held = columns["jobs/held.cpu"][row]
            self.ran += seconds
            self.reserved += seconds * (held / 1000 if 0 < held < UNLIMITED else most_cores)
            self.throttled += seconds * min(1, columns.get("jobs/throttled.cpu", [0] * (row + 1))[row])

    @property
    def cores(self) -> float:
        """Reserved for a job, on average."""
        return self.reserved / self.ran


def run(folder: pathlib.Path, policy: str, most_cores: float, epochs: int, phases: bool = True) -> Run:
    (folder / "jobs.toml").write_text(jobs_file(policy, most_cores, epochs, phases))
    subprocess.run([RATION, "run", "jobs.toml", "--quiet", "--log", "log.jsonl"], cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return Run(folder / "log.jsonl", most_cores)


def learn(folder: pathlib.Path, epochs: int) -> None:
    """Runs the trainers once without limits, and writes their phases to phases.json."""
    run(folder, "none", 1, epochs, phases=False)
    words = ["log.jsonl", "--period", f"{PERIOD}s", "--horizon", f"{HORIZON}s"]
    print(subprocess.run([RATION, "measure", "phases", *words], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout)
    with (folder / "phases.json").open("w") as file:
        subprocess.run([RATION, "measure", "phases", *words, "--json"], cwd=folder, check=True, stdout=file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=6)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ration-ai4dl-"))
    runs: dict[str, list[Run]] = {kind: [] for kind in KINDS}
    try:
        learn(folder, options.epochs)
        for _ in range(options.rounds):
            for kind, (policy, most_cores) in KINDS.items():
                runs[kind].append(run(folder, policy, most_cores, options.epochs))
    finally:
        shutil.rmtree(folder)
    return report(runs)


def report(runs: dict[str, list[Run]]) -> int:
    print("| medians of the runs | reserved cores of a job | throttled, s of a job | seconds of a job |\n|---|--:|--:|--:|")
    middle = {}
    for kind, all_runs in runs.items():
        middle[kind] = [statistics.median(values) for values in
                        ([one.cores for one in all_runs], [one.throttled / len(TRAINERS) for one in all_runs],
                         [statistics.mean(one.seconds.values()) for one in all_runs])]
        print("| {} | {:.2f} | {:.1f} | {:.1f} |".format(kind, *middle[kind]))
    limited = runs["phase_limits"]
    reserved = [one.cores / whole.cores for one, whole in zip(limited, runs["static, 1 core"])]
    held_back = [one.throttled / sum(one.seconds.values()) for one in limited]
    claims = ((all(one.failed == 0 and len(one.seconds) == len(TRAINERS) for all_runs in runs.values() for one in all_runs), "no job failed"),
              (at_most(reserved, 0.9), "phase limits reserve at most 0.9 of a static core"),
              (at_most(held_back, 0.05), "phase limits hold a job back for at most 5 % of its time"))
    return conclude(claims)


if __name__ == "__main__":
    sys.exit(main())
