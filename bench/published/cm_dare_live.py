#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""CM-DARE's detector on real jobs: ranks that exchange 50 MB of gradients by gloo in each step, beside ranks that exchange 0.1 MB.

    bench/run.sh published.cm_dare_live [--sizes 1,2] [--steps 30] [--weight 6400]

Both jobs run under one 'ration run', on CPU devices, with a batch that does not depend on their number. Each makes --steps steps on each number
of devices. The estimator 'bottleneck' has to show exchange for the first job on more than one device, and nothing for the second one, the
control. More ranks of a job than cores wait for a core as well, so the default is two devices. --weight is that of the jobs against other
programs of the machine, where a cgroup can be made; the usual weight is 100. Needs PyTorch for /usr/bin/python3.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from claims import conclude
from perseus_live import OwnGroup

ROOT = pathlib.Path(__file__).resolve().parents[2]
RATION = os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration"))
PYTHON = os.environ.get("RATION_TORCH_PYTHON", "/usr/bin/python3")
CORES = 0.2  # of a device
NAMES = ("none", "exchange", "input", "throttled")  # of the values of jobs/bottleneck
RUNNING = 1
# Width of the matrix, how often it is applied, and samples per step: 50.0 MB and 0.1 MB of gradients
JOBS = {"large": (3536, 1, 64), "small": (160, 96, 1024)}


def megabytes(name: str) -> float:
    return 4e-6 * JOBS[name][0] ** 2


def jobs_file(options: argparse.Namespace) -> str:
    most = max(options.sizes)
    lines = ['policy = "wants"', f"devices = {{ count = {most * len(JOBS)}, cpu = {CORES} }}", 'tick = "250ms"']
    for name, shape in JOBS.items():
        words = [PYTHON, "-m", "ration.ranks", ROOT / "bench/published/cm_dare_trainer.py", *shape, ",".join(map(str, options.sizes)), options.steps]
        lines += ["[[job]]", f'name = "{name}"', f"command = {json.dumps([str(word) for word in words])}",
                  f"environment = {{ PYTHONPATH = {json.dumps(str(ROOT / 'python'))} }}", 'preload = ["torch"]',
                  f"bounds = {{ gpu = {{ min = 1, max = {most} }} }}", "target = { loss = { objective = 0 } }"]
    return "\n".join(lines) + "\n"


class Measured:
    """One job on one number of devices: the steps that it made, the time of these, and its bottleneck at the end."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, int]] = []  # (seconds, step) of each further step; the first one is that of an earlier launch
        self.bottleneck = 0

    def take(self, at: float, step: int, bottleneck: int) -> None:
        if not self.steps or step > self.steps[-1][1]:
            self.steps.append((at, step))
        self.bottleneck = bottleneck

    @property
    def speed(self) -> float:
        (begin, first), (end, last) = self.steps[1], self.steps[-1]
        return (last - first) / (end - begin)


def read_log(log: pathlib.Path, sizes: list[int]) -> dict[str, dict[int, Measured]]:
    found = {name: {size: Measured() for size in sizes} for name in JOBS}
    names: dict[int, str] = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "job_started":
            names[event["id"]] = event["job"]
        if event["event"] != "decision":
            continue
        columns = event["columns"]
        for row, job in enumerate(columns["jobs/id"]):
            workers = columns["jobs/workers"][row]
            requested = columns["jobs/requested.gpu"][row]
            if columns["jobs/state"][row] == RUNNING and workers == requested and workers in sizes:
                found[names[job]][workers].take(event["t"] / 1e9, columns["jobs/step"][row], columns["jobs/bottleneck"][row])
    return found


def run(options: argparse.Namespace) -> tuple[dict[str, dict[int, Measured]], list[str]]:
    """The figures of both jobs, and the lines of advice."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ration-cm-dare-"))
    (folder / "run").mkdir(mode=0o700)
    try:
        (folder / "jobs.toml").write_text(jobs_file(options))
        environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run"))
        done = subprocess.run([RATION, "run", "jobs.toml", "--log", "log.jsonl"], cwd=folder, env=environment, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            outputs = [log.read_text() for log in sorted(folder.glob("ration-output/*/*.log"))]
            raise SystemExit("\n".join(["the run has failed:", done.stdout, done.stderr, *outputs]))
        return read_log(folder / "log.jsonl", options.sizes), [line for line in done.stdout.splitlines() if line.startswith("advice: ")]
    finally:
        shutil.rmtree(folder)


def report(measured: dict[str, dict[int, Measured]], advice: list[str]) -> int:
    print("| gradients | devices | steps/s | of the sum of the devices | bottleneck |\n|---|--:|--:|--:|---|")
    for name, sizes in measured.items():
        fewest = min(sizes)
        for size, one in sizes.items():
            part = one.speed / (sizes[fewest].speed * size / fewest)
            print(f"| {megabytes(name):.1f} MB | {size} | {one.speed:.2f} | {part:.2f} | {NAMES[one.bottleneck]} |")
    print("", *advice, sep="\n")
    of_large = [one.bottleneck for size, one in measured["large"].items() if size > min(measured["large"])]
    named = [line.split(";")[0] for line in advice]
    return conclude([
        (all(NAMES[one] == "exchange" for one in of_large), "50 MB of gradients are a bottleneck on each number of devices above the first"),
        (all(one.bottleneck == 0 for one in measured["small"].values()), "control: 0.1 MB are none"),
        (named == ["advice: large: it is slower than 0.9 of the sum of its devices"], "the advice names the exchange of the first job, and nothing else")])


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=numbers, default=[1, 2], help="numbers of devices, ascending (1,2)")
    parser.add_argument("--steps", type=int, default=30, help="on each number of devices (30)")
    parser.add_argument("--weight", type=int, default=6400)
    options = parser.parse_args()
    with OwnGroup(options.weight):
        return report(*run(options))


if __name__ == "__main__":
    sys.exit(main())
