#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The four trainers of examples/quickstart, or three of examples/elastic, under several policies: seconds until each is Acceptable, and until all
have ended.

    bench/run.sh run.policies [--jobs elastic] [--repetitions 3] [--policies none,tradl,srtf]

Policies that share devices get the same core as four devices of a quarter, without given speedups: ration estimates them. The policies take turns in
each repetition. --short ends each trainer after a few steps, for tests. The trainers of examples/elastic need PyTorch.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart" / "jobs.toml"
PYTHON = os.environ.get("RATION_TORCH_PYTHON", "/usr/bin/python3")
ELASTIC = {"first": (0, 512), "second": (5, 1024), "third": (10, 512)}  # seconds of the arrival, width of the classifier
# Intervals of seconds instead of minutes: the jobs take less than a minute
SETTINGS = {
    "none": "",
    "tradl": 'tradl = { alpha = 0.85, scenario = "FT" }',
    "srtf": 'srtf = { unknown = "first" }',
    "optimus": "optimus = { interval = 5 }",
    "afs": "afs = { interval = 5 }",
    "pollux": "pollux = { interval = 5 }",
    "sia": "sia = { round = 5 }",
    "good_enough": "good_enough = { interval = 5 }",
    "elastic_batch_dp": "elastic_batch_dp = { interval = 5 }",
}
ON_CORES = ("none", "tradl")


def quickstart_jobs(asked: argparse.Namespace) -> list[str]:
    text = QUICKSTART.read_text().replace('"build/release/bin/train"', json.dumps(str(asked.train.resolve())))
    if asked.short:
        text = re.sub(r'"--steps", "\d+"', '"--steps", "30"', re.sub(r'at = "\d+s"', 'at = "1s"', text))
        text = re.sub("acceptable = [^,]*, objective = [^,]*, mean_of = 100", "acceptable = 1e9, objective = 0", text)
    return text.split("[[job]]")[1:]


def elastic_jobs(asked: argparse.Namespace) -> list[str]:
    jobs = []
    for seed, (name, (at, width)) in enumerate(ELASTIC.items(), 1):
        steps = 30 if asked.short else 600
        words = [PYTHON, "-m", "ration.ranks", str(ROOT / "examples/elastic/classifier.py"), str(steps), str(seed), "--width", str(width)]
        target = "acceptable = 1e9, objective = 0" if asked.short else "acceptable = 1.4, objective = 1.05, mean_of = 10"
        jobs.append(f'\nname = "{name}"\ncommand = {json.dumps(words)}\nenvironment = {{ PYTHONPATH = {json.dumps(str(ROOT / "python"))} }}\n'
                    f'at = "{1 if asked.short else at}s"\npreload = ["torch"]\ntarget = {{ loss = {{ {target} }} }}\n')
    return jobs


def jobs_file(policy: str, jobs: list[str]) -> str:
    """Jobs with this policy."""
    head = f'policy = "{policy}"\n{SETTINGS[policy]}\ncpus = 1\ntick = "250ms"\n'
    if policy not in ON_CORES:
        head += "devices = { count = 4, cpu = 0.25 }\n"
        jobs = [job + "bounds = { gpu = { min = 1, max = 4 } }\nrestart_cost = \"2s\"\n" for job in jobs]
    return head + "".join("[[job]]" + job for job in jobs)


def run(asked: argparse.Namespace, policy: str) -> dict:
    """The last event of a run of the jobs under this policy."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = elastic_jobs(asked) if asked.jobs == "elastic" else quickstart_jobs(asked)
        pathlib.Path(folder, "jobs.toml").write_text(jobs_file(policy, jobs))
        command = [str(asked.ration.resolve()), "run", "jobs.toml", "--log", "log.jsonl", "--quiet"]
        process = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, "XDG_RUNTIME_DIR": folder})
        try:
            output = process.communicate()[0]
        except KeyboardInterrupt:
            process.communicate()  # it got the same signal and stops its jobs
            raise
        if process.returncode != 0:
            sys.exit(f"{policy}: ration ended with status {process.returncode}:\n{output}")
        events = [json.loads(line) for line in pathlib.Path(folder, "log.jsonl").read_text().splitlines()]
        resizes = sum(event["event"] == "resize" and event["what"] == "settled" for event in events)
        return {**next(event for event in events if event["event"] == "run_ended"), "resizes": resizes}


def figures_of(ended: dict) -> dict[str, float]:
    """By the name of a job, and of the run. A job that never gets there has none."""
    times = {job["job"]: (job["acceptable_at"] - job["arrived"]) / 1e9 for job in ended["jobs"] if job["acceptable_at"] is not None}
    return {**times, "mean": statistics.mean(times.values()), "all ended": ended["makespan"] / 1e9, "resizes": ended["resizes"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ration", type=pathlib.Path, default=ROOT / "build/release/bin/ration", help="the program")
    parser.add_argument("--train", type=pathlib.Path, default=ROOT / "build/release/bin/train", help="the trainer")
    parser.add_argument("--jobs", choices=("quickstart", "elastic"), default="quickstart")
    parser.add_argument("--short", action="store_true", help="a few steps of each trainer, for tests")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--policies", default="none,tradl,srtf,optimus,pollux,sia,good_enough", help="names with commas between")
    asked = parser.parse_args()
    policies = asked.policies.split(",")
    if unknown := [policy for policy in policies if policy not in SETTINGS]:
        parser.error(f"unknown policy {unknown[0]}; choose among {', '.join(SETTINGS)}")
    if asked.repetitions < 1:
        parser.error("--repetitions counts from 1")
    found = {policy: [] for policy in policies}
    for repetition in range(1, asked.repetitions + 1):
        for policy, runs in found.items():
            runs.append(figures_of(run(asked, policy)))
            print(f"{repetition} of {asked.repetitions}, {policy}: {runs[-1]['all ended']:.0f} s", file=sys.stderr, flush=True)
    columns = list(found[policies[0]][0])
    print("| policy | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for policy, runs in found.items():
        medians = [[one[column] for one in runs if column in one] for column in columns]
        print(f"| `{policy}` | " + " | ".join(f"{statistics.median(values):.1f}" if values else "-" for values in medians) + " |", flush=True)


if __name__ == "__main__":
    main()
