# SPDX-License-Identifier: BSL-1.0
"""A job with known speeds. usage: tuned.py TILE KIND

A step takes 40 ms with tile 4, 10 ms with 16 and 25 ms with other ones, and 1.5 times as long with the kind `slow`. The kind `broken` fails.
Writes its pid and parameters to `launches`.
"""
import os
import sys
import time

from ration import progress

TILE, KIND = sys.argv[1:]
STEP = {"4": 0.04, "16": 0.01}.get(TILE, 0.025) * (1.5 if KIND == "slow" else 1)

with open("launches", "a", encoding="ascii") as out:
    out.write(f"{os.getpid()} {TILE} {KIND} {os.environ['KIND']}\n")
if KIND == "broken":
    sys.exit("not on this machine")
with progress.open() as handle:
    handle.listen()
    handle.hello(world=1, threads=1)
    step, command = 0, None
    while command is None or command.kind != "stop":
        time.sleep(STEP)
        step += 1
        handle.step(step, 1.0)
        command = handle.command()
    handle.bye(0, "stop")
