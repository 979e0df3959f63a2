# SPDX-License-Identifier: BSL-1.0
"""A job that uses all the CPU it gets and, after four seconds, reports a loss that reaches its target.

usage: crosser.py FILE    writes "PID" at the start, and the CLOCK_MONOTONIC nanoseconds of the crossing report after it
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import os  # noqa: E402

from ration import progress  # noqa: E402


def main() -> None:
    with open(sys.argv[1], "w", buffering=1) as out:
        print(os.getpid(), file=out)
        job = progress.open()
        job.hello(world=1, threads=1)
        job.phase("train")
        begin = time.monotonic()
        step, crossed = 0, False
        while time.monotonic() < begin + 6:
            step += 1
            if not crossed and time.monotonic() > begin + 4:
                time.sleep(0.3)  # the client sends five messages a second: the next one goes out at once
                now = time.monotonic_ns()
                job.step(step, -1e9)  # low enough to carry the mean of what the client has gathered
                print(now, file=out)
                crossed = True
            elif not crossed:
                job.step(step, 1.0)
            sum(range(20000))
        job.bye(0)


main()
