#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""From a report that reaches Acceptable to the changed limit in the kernel: how long does `ration run` need?

usage: decision.py [--program RATION] [--jobs N], as root

One job burns CPU throughout; N others come one after another, use all they get, and report a loss that reaches Acceptable.
This program watches the quota file of each one's group and takes the time from the report to the new value. The floor is the same
time of a process that waits for a datagram and then only writes the quota. Exit code: 0, 1 when the median is above 1 ms or the 99th
percentile above 5 ms.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
UNLIMITED = ("-1", "max")
PERIOD = 7  # seconds between two jobs


def quota_file(pid: int) -> pathlib.Path:
    """The file that holds the CPU quota of this process's group."""
    mounts = {}
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup" and "cpu" in options.split(","):
            mounts["cpu"] = left.split()[4]
        elif kind == "cgroup2":
            mounts[""] = left.split()[4]
    groups = {}
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update({name: path for name in controllers.split(",")})
    if "cpu" in groups and "cpu" in mounts:
        return pathlib.Path(mounts["cpu"] + groups["cpu"]) / "cpu.cfs_quota_us"
    return pathlib.Path(mounts[""] + groups[""]) / "cpu.max"


def jobs_file(folder: pathlib.Path, count: int) -> str:
    text = 'policy = "tradl"\ntradl = { alpha = 0.5, scenario = "AO" }\ncpus = 1\ntick = "250ms"\n'
    burn = f'["/usr/bin/python3", "-c", "import time\\nt = time.monotonic()\\nwhile time.monotonic() < t + {PERIOD * count}: pass"]'
    text += f'[[job]]\nname = "burner"\ncommand = {burn}\ntarget = {{ loss = {{ acceptable = 0 }} }}\n'
    for i in range(count):
        text += (f'[[job]]\nname = "crosser{i}"\nat = "{1 + PERIOD * i}s"\n'
                 f'command = ["/usr/bin/python3", "{HERE / "crosser.py"}", "{folder / str(i)}"]\n'
                 'target = { loss = { acceptable = 0.5 } }\n')
    return text


def wait_for_lines(file: pathlib.Path, count: int) -> list[str]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) >= count:
            return lines
        time.sleep(0.02)
    sys.exit(f"decision.py: {file} did not get {count} lines in 30 s; run the jobs by hand to see why")


def until_changed(quota: pathlib.Path) -> int:
    """When the file first holds a limit, on CLOCK_MONOTONIC, in ns."""
    while quota.read_text().split()[0] in UNLIMITED:
        time.sleep(0.0001)
    return time.monotonic_ns()


def measure(file: pathlib.Path) -> float:
    """Milliseconds from the crossing report of this job to its changed quota."""
    changed = until_changed(quota_file(int(wait_for_lines(file, 1)[0])))
    return (changed - int(wait_for_lines(file, 2)[1])) / 1e6


def measure_floor(count: int) -> list[float]:
    """Milliseconds from a datagram to the quota that its receiver writes."""
    mine = quota_file(os.getpid())
    group = mine.parent / f"ration-floor-{os.getpid()}"
    group.mkdir()
    quota = group / mine.name
    sender, receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    child = os.fork()
    if child == 0:
        while receiver.recv(16) == b"limit":
            quota.write_text("50000")
        os._exit(0)
    times = []
    try:
        for _ in range(count):
            quota.write_text(UNLIMITED[0] if "cfs" in quota.name else UNLIMITED[1])
            time.sleep(0.02)  # the receiver sleeps, as a run does
            sent = time.monotonic_ns()
            sender.send(b"limit")
            times.append((until_changed(quota) - sent) / 1e6)
    finally:
        sender.send(b"end")
        os.waitpid(child, 0)
        group.rmdir()
    return times


def figures(times: list[float]) -> dict[str, float | int]:
    ordered = sorted(times)
    return {"samples": len(times), "median": round(statistics.median(times), 3), "p99": round(ordered[(99 * len(ordered) - 1) // 100], 3),
            "max": round(ordered[-1], 3)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/ration")
    arguments.add_argument("--jobs", type=int, default=30)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "jobs.toml").write_text(jobs_file(folder, options.jobs))
        run = subprocess.Popen([options.program.resolve(), "run", "jobs.toml", "--quiet"], cwd=folder)
        times = [measure(folder / str(i)) for i in range(options.jobs)]
        run.wait()
    taken = figures(times)
    print(json.dumps({"question": "report that reaches a tier, to the changed quota", "unit": "ms", **taken, "floor": figures(measure_floor(options.jobs))}))
    sys.exit(0 if taken["median"] <= 1 and taken["p99"] <= 5 else 1)


if __name__ == "__main__":
    main()
