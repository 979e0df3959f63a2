#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""VirtualCluster's test of fairness on a real service: jobs of /bin/true over its socket, beside the simulated rows.

    bench/run.sh published.virtual_cluster_live [--greedy 200] [--regular 10]

Ten greedy tenants have queued all their jobs when the service starts to launch. Each of 40 regular tenants submits a job when its job before
has ended. Twenty jobs run at once. The control is one queue: all jobs are of one tenant. Theirs and the simulation process 435 jobs per second
and have 900 jobs of each greedy tenant, so that the limits of both are scaled to the measured rate and to the number of jobs.
"""
import argparse
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from claims import conclude

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from ration.service import Service  # noqa: E402  pylint: disable=wrong-import-position

GREEDY, REGULAR, WORKERS = 10, 40, 20
RATE, JOBS_OF_GREEDY = 435, 900  # of the simulation
CONTROL_SEPARATE = False  # whether the control has a queue for each tenant, which breaks it
FINAL = ("COMPLETED", "FAILED", "HALTED")
DEFINITION = '[[job]]\nname = "{name}"\ntenant = "{tenant}"\ncommand = ["/bin/true"]\ntarget = {{ loss = {{ objective = 0 }} }}\nat_objective = "continue"\n'


class Tenants:
    """The tenants of one run, and how long their jobs take."""

    def __init__(self, service: Service, options: argparse.Namespace, separate: bool) -> None:
        self.service, self.options, self.separate = service, options, separate
        self.submitted: dict[int, tuple[str, float]] = {}  # by job: its tenant, and when
        self.left: dict[str, int] = {}
        self.waits: dict[str, list[float]] = {"greedy": [], "regular": []}
        self.number = 0

    def submit(self, tenant: str) -> None:
        self.number += 1
        definition = DEFINITION.format(name=tenant, tenant=tenant if self.separate else "all")
        job = self.service.submit_job({"key": str(self.number), "definition": definition, "directory": "/", "environment": []})
        self.submitted[job["id"]] = (tenant, time.time())
        self.left[tenant] -= 1

    def queue_greedy(self) -> None:
        self.left.update({f"greedy-{number}": self.options.greedy for number in range(GREEDY)})
        self.left.update({f"regular-{number}": self.options.regular for number in range(REGULAR)})
        self.service.drain()
        for _ in range(self.options.greedy):
            for number in range(GREEDY):
                self.submit(f"greedy-{number}")

    def run(self) -> float:
        """Returns the seconds from the first launch to the last end."""
        begun = time.time()
        self.submitted = {job: (tenant, begun) for job, (tenant, _) in self.submitted.items()}
        arrivals = sorted((begun + random.Random(number).random(), f"regular-{number}") for number in range(REGULAR))
        ends: list[tuple[int, float]] = []
        threading.Thread(target=self.follow, args=(ends,), daemon=True).start()
        self.service.end_drain()
        handled = 0
        while handled < GREEDY * self.options.greedy + REGULAR * self.options.regular:
            while arrivals and arrivals[0][0] <= time.time():
                self.submit(arrivals.pop(0)[1])
            while handled < len(ends):
                self.take_end(*ends[handled])
                handled += 1
            time.sleep(0.005)
        return time.time() - begun

    def follow(self, ends: list[tuple[int, float]]) -> None:
        for _, name, content in self.service.watch_events(last=0):
            if name == "stage" and content["stage"] in FINAL:
                ends.append((content["job"], content["at_ms"] / 1000))

    def take_end(self, job: int, at: float) -> None:
        tenant, since = self.submitted[job]
        self.waits[tenant.split("-")[0]].append(at - since)
        if self.left[tenant]:
            self.submit(tenant)


def measure(options: argparse.Namespace, separate: bool) -> tuple[float, float, float, float]:
    """(mean and worst of regular jobs, mean of greedy jobs, jobs per second)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="vc-"))
    (folder / "run").mkdir(mode=0o700)
    environment = dict(os.environ, XDG_RUNTIME_DIR=str(folder / "run"))
    program = os.environ.get("RATION_PROGRAM", str(ROOT / "build/release/bin/ration"))
    state = folder / "state"
    with subprocess.Popen([program, "serve", "--state", state, "--backend", "process", "--max-running", str(WORKERS)], env=environment, stdout=subprocess.PIPE, text=True) as service:
        try:
            if "ready" not in service.stdout.readline():
                raise SystemExit("the service does not start; read the lines above")
            tenants = Tenants(Service(str(state)), options, separate)
            tenants.queue_greedy()
            took = tenants.run()
        finally:
            service.terminate()
    subprocess.run([program, "clean"], env=environment, stdout=subprocess.DEVNULL, check=False)
    shutil.rmtree(folder)
    regular, greedy = tenants.waits["regular"], tenants.waits["greedy"]
    return statistics.mean(regular), max(regular), statistics.mean(greedy), (len(regular) + len(greedy)) / took


def simulated_rows() -> list[str]:
    section = (ROOT / "bench/published/results.md").read_text().split("## VirtualCluster")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--greedy", type=int, default=200, help="jobs of each greedy tenant (200)")
    parser.add_argument("--regular", type=int, default=10, help="jobs of each regular tenant (10)")
    options = parser.parse_args()
    fair, one = measure(options, True), measure(options, CONTROL_SEPARATE)
    print("\n".join(simulated_rows()))
    for name, (mean, worst, greedy, _) in (("live, turns of tenants", fair), ("live, one queue", one)):
        print(f"| {name} | {GREEDY} | {mean:.2f} | {worst:.2f} | {greedy:.2f} |")
    print(f"\nlive: {options.greedy} jobs of each greedy tenant; {fair[3]:.0f} and {one[3]:.0f} jobs per second")
    most = 0.5 * RATE / fair[3]
    least = 20 * options.greedy / JOBS_OF_GREEDY
    claims = ((fair[1] <= most, f"no job of a regular tenant takes more than {most:.2f} s, as 0.5 s with 435 jobs per second"),
              (one[1] * one[3] >= least * fair[1] * fair[3], f"one queue makes the worst of them {least:.1f} times as long, as 20 times with 900 jobs"),
              (fair[2] * fair[3] <= 1.15 * one[2] * one[3], "jobs of greedy tenants take at most 15 % longer"))
    return conclude(claims)


if __name__ == "__main__":
    sys.exit(main())
