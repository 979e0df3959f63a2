#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""How many submissions does `ration serve` acknowledge, each of them durable?

    bench/service/submissions.py [--program build/release/bin/ration] [--seconds 10] [--clients 32]

Four rows, in one run on one file system:

  fsync       a program that appends 2 KiB and waits for the disk, once for each submission: the baseline
  one client  the next submission follows the answer to the last one
  clients     as many at a time; the service commits all requests of a turn of its loop together
  paced       435 submissions in a second at planned times; a time counts from the planned one, so a late start counts too

The jobs wait for one that does not end. Afterwards each acknowledged job is in the list, once. Exit code: 0, 1 if a job is missing, if
the service cannot keep up with the pace, or if the 99th percentile then is above 100 ms.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

from service import Service

PACE = 435  # submissions in a second, as many jobs as VirtualCluster's scheduler processes
MOST_P99 = 0.1  # s


def rate_of_fsync(folder: pathlib.Path, seconds: float) -> float:
    """Appends of 2 KiB in a second, each of them on the disk before the next one."""
    count, end = 0, time.monotonic() + seconds
    with open(folder / "appended", "wb", buffering=0) as file:
        while time.monotonic() < end:
            file.write(bytes(2048))
            os.fsync(file.fileno())
            count += 1
    return count / seconds


class Clients:
    """Threads that submit jobs after the first one until the time is over. `pace`: submissions in a second of all together; none: at once."""

    def __init__(self, service: Service, first: int, name: str, count: int, seconds: float, pace: float | None = None) -> None:
        self.service, self.first, self.name, self.count, self.pace = service, first, name, count, pace
        self.begin = time.monotonic()
        self.end = self.begin + seconds
        self.seconds = seconds
        self.taken, self.ids, self.faults = [], [], []
        threads = [threading.Thread(target=self.run, args=(index,)) for index in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def run(self, index: int) -> None:
        try:
            for number in range(index, 1 << 30, self.count):
                planned = self.begin + number / self.pace if self.pace else time.monotonic()
                if planned >= self.end:
                    return
                time.sleep(max(0.0, planned - time.monotonic()))
                self.ids.append(self.service.submit(f"{self.name}-{number}", ["true"], [self.first]))
                self.taken.append(time.monotonic() - planned)
        except (OSError, RuntimeError, ValueError) as fault:
            self.faults.append(str(fault))

    def row(self) -> dict:
        ordered = sorted(self.taken)
        return {"row": self.name, "per_second": round(len(ordered) / self.seconds), "median_ms": round(1000 * statistics.median(ordered), 2),
                "p99_ms": round(1000 * ordered[(99 * len(ordered) - 1) // 100], 2)}


def measure(options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    """Prints the rows, and returns what is wrong with them."""
    service = Service(options.program, folder)
    first = service.submit("first", ["sleep", "100000"])
    try:
        print(json.dumps({"row": "fsync", "per_second": round(rate_of_fsync(folder, options.seconds))}), flush=True)
        all_clients = []
        for name, count, pace in (("one client", 1, None), ("clients", options.clients, None), ("paced", options.clients, PACE)):
            all_clients.append(Clients(service, first, name, count, options.seconds, pace))
            print(json.dumps(all_clients[-1].row()), flush=True)
        listed = [job["id"] for job in service.ask("GET", "/v1/jobs")[1]["jobs"]]
    finally:
        service.end()
    faults = [fault for clients in all_clients for fault in clients.faults]
    acknowledged = [number for clients in all_clients for number in clients.ids]
    if sorted([first, *acknowledged]) != sorted(listed):
        faults.append("the list does not have each acknowledged job once")
    paced = all_clients[-1].row()
    if paced["per_second"] < 0.99 * PACE or paced["p99_ms"] > 1000 * MOST_P99:
        faults.append(f"{PACE} submissions in a second were not acknowledged within {MOST_P99} s each")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/ration", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:  # not /tmp, which may be memory
        faults = measure(options, pathlib.Path(name).resolve())
    for fault in faults:
        print(f"submissions.py: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
