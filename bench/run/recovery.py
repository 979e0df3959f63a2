#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""How long `ration run --reattach` takes to recover a run that was killed: from its start until the record names it as the owner of all jobs.

    bench/run/recovery.py [--program build/release/bin/ration] [--jobs 20] [--rounds 10] [--backend cgroup]

Beside it, as a control, the time until a new run of the same file has written its first record.
"""
import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time


def record(folder: pathlib.Path) -> dict:
    for file in (folder / "ration").glob("*/record/run.json"):
        with contextlib.suppress(OSError, ValueError):
            return json.loads(file.read_text())["run"]
    return {}


class Round:
    """One run that is killed and recovered, in a new folder."""

    def __init__(self, options: argparse.Namespace, folder: pathlib.Path) -> None:
        self.options, self.folder = options, folder
        jobs = "".join(f'[[job]]\nname = "j{i}"\ncommand = ["sleep", "600"]\ntarget = {{ loss = {{ acceptable = 0.5 }} }}\n' for i in range(options.jobs))
        (folder / "jobs.toml").write_text('policy = "none"\n' + jobs)

    def run(self, *words: str) -> tuple[subprocess.Popen, float]:
        """A run, and the seconds until its own record is there."""
        begin = time.perf_counter()
        process = subprocess.Popen([self.options.program, "run", "jobs.toml", "--quiet", "--backend", self.options.backend, *words], cwd=self.folder,
                                   env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder)))
        while record(self.folder).get("owner") != process.pid:
            if process.poll() is not None:
                raise SystemExit(f"ration ended with exit code {process.returncode}")
            time.sleep(0.0005)
        return process, time.perf_counter() - begin

    def measure(self) -> tuple[float, float]:
        first, new = self.run()
        while len([job for job in record(self.folder).get("jobs", []) if job["pid"]]) < self.options.jobs:
            time.sleep(0.01)
        first.kill()
        first.wait()
        second, recovered = self.run("--reattach")
        second.terminate()
        second.wait()
        return new, recovered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--jobs", default=20, type=int)
    parser.add_argument("--rounds", default=10, type=int)
    parser.add_argument("--backend", default="auto")
    options = parser.parse_args()
    rows = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(Round(options, pathlib.Path(folder)).measure())
    for name, values in zip(("first record of a new run", f"recovery of {options.jobs} jobs"), zip(*rows)):
        print(f"{name:28} median {statistics.median(values):.3f} s, slowest {max(values):.3f} s of {len(values)}")


main()
