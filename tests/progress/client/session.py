# SPDX-License-Identifier: BSL-1.0
"""An ordinary training loop, then one that fails, then one that is stopped."""
import sys

from common import progress

with progress.open() as p:
    p.hello(world=2, threads=4)
    p.phase("train")
    for step, loss in enumerate([4, 1, float("nan"), 2, float("-inf"), 3], start=1):
        p.step(step, loss, total=6)
    p.eval(6, "accuracy", 0.75)
    p.eval(6, "my metric=", float("inf"))
    p.checkpoint(6)
    p.heartbeat()

try:
    with progress.open() as p:
        p.hello()
        raise ValueError("training failed")
except ValueError:
    pass

try:
    with progress.open() as p:
        p.hello()
        sys.exit(3)
except SystemExit:
    pass
