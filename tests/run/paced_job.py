# SPDX-License-Identifier: BSL-1.0
"""A job for tests. usage: paced_job.py SECONDS BUSY

Reports a step every 0.05 s, uses CPU for the part BUSY of that time, and waits for the rest.
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from ration import progress  # noqa: E402


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    busy = 0.05 * float(sys.argv[2])
    job = progress.open()
    job.hello(world=1, threads=1)
    job.phase("train")
    step = 0
    while time.monotonic() < end:
        step += 1
        job.step(step, 1.0)
        start = time.process_time()
        while time.process_time() - start < busy:
            sum(range(1000))
        time.sleep(0.05 - busy)
    job.bye(0)


main()
