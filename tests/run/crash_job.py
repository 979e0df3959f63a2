# SPDX-License-Identifier: BSL-1.0
"""A job for crash_test.py. usage: crash_job.py SECONDS

Holds a lock of its name as long as it lives, and writes `conflict` when another one holds it. Adds a line to `starts.NAME` at its start and to `ends.NAME`
at its end. Computes nearly all the time, so that a limit of half a core stops it.
"""
import fcntl
import os
import pathlib
import sys
import time

NAME = os.environ["RATION_JOB"]


def note(file: str) -> None:
    with open(file, "a") as out:
        out.write(f"{NAME} {os.getpid()}\n")


with open(f"lock.{NAME}", "a") as held:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note("conflict")
    note(f"starts.{NAME}")
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end and not pathlib.Path("end").exists():
        busy = time.monotonic() + 0.15
        while time.monotonic() < busy:
            pass
        time.sleep(0.01)
    note(f"ends.{NAME}")
