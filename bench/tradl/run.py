# SPDX-License-Identifier: BSL-1.0
"""Runs the eight PyTorch models with staggered arrivals on one core, without TRADL (NA) and in its scenarios AO and FT, and
writes the times to Acceptable and to Objective as report.md and report.json. Ctrl-C ends it: ration stops the jobs."""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import event_log
import jobs_file
import medians
import report

ROOT = jobs_file.ROOT


def run_once(program: pathlib.Path, folder: pathlib.Path, scenario: str, content: str) -> event_log.Run:
    """One `ration run` in a separate folder, where its jobs file, its event log and the jobs' output stay."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jobs.toml").write_text(content)
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    command = [str(program), "run", "jobs.toml", "--log", log.name] + (["--policy", "none"] if scenario == "NA" else [])
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            status = process.wait()
        except KeyboardInterrupt:
            process.wait()  # it got the same signal and stops its jobs
            raise
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with status {status}: read {folder / 'output.txt'}")
    return event_log.read(log)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--ration", type=pathlib.Path, default=ROOT / "build/release/bin/ration", help="the program")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/tradl", help="folder for logs and report")
    parser.add_argument("--repetitions", type=int, default=3, help="runs of each scenario, with model seeds 1, 2, ...")
    parser.add_argument("--seed", type=int, default=1, help="of the arrivals")
    parser.add_argument("--within", type=float, default=60, help="seconds in which all jobs arrive")
    asked = parser.parse_args()
    if asked.repetitions < 1 or asked.within < 0:
        parser.error("--repetitions counts from 1 and --within from 0")
    if not asked.ration.is_file():
        parser.error(f"{asked.ration} is not there: build it, or name it with --ration")
    return asked


def run_all(asked: argparse.Namespace) -> medians.Runs:
    """The scenarios take turns, so that a drift of the machine meets them alike."""
    schedule = jobs_file.staggered(jobs_file.models(), asked.seed, asked.within)
    runs = {scenario: [] for scenario in medians.SCENARIOS}
    for repetition in range(1, asked.repetitions + 1):
        for scenario, done in runs.items():
            begun = time.monotonic()
            content = jobs_file.as_toml(schedule, scenario, repetition)
            done.append(run_once(asked.ration.resolve(), asked.out.resolve() / f"{scenario}-{repetition}", scenario, content))
            print(f"{scenario} {repetition} of {asked.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    return runs


def main() -> None:
    asked = arguments()
    runs = run_all(asked)
    origin = (f"`bench/tradl/run.py --repetitions {asked.repetitions} --seed {asked.seed} --within {asked.within:g}`, "
              f"one core, {runs['NA'][0].backend}.")
    text = report.markdown(runs, origin)
    (asked.out / "report.md").write_text(text)
    (asked.out / "report.json").write_text(json.dumps(report.as_data(runs, origin), indent=1) + "\n")
    print(text)


if __name__ == "__main__":
    main()
