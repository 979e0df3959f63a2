# SPDX-License-Identifier: BSL-1.0
"""A job for tests. usage: job.py SECONDS [LOSS...]

Reports the losses in turn, one every 0.25 s, the last one again and again, and uses all the CPU it gets in between. It ends after
that time, and not before it has reported each loss once.
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from ration import progress  # noqa: E402


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    losses = [float(word) for word in sys.argv[2:]] or [1.0]
    job = progress.open()
    job.hello(world=1, threads=1)
    job.phase("train")
    step = 0
    while time.monotonic() < end or step < len(losses):
        job.step(step + 1, losses[min(step, len(losses) - 1)])
        step += 1
        pause = time.monotonic() + 0.25
        while time.monotonic() < pause:
            sum(range(1000))
    job.bye(0)


main()
