# SPDX-License-Identifier: BSL-1.0
"""An elastic trainer with a known speed: a step takes 10 ms and 40 ms divided by the number of ranks. usage: trainer.py MODE [SIZE]

So the speedup is 5/3 on two devices and 5/2 on four. The first two steps take 0.15 s longer for each rank, as those of a framework that
compiles.
Writes its pid and its first step to `launches`, and saves its step in RATION_CHECKPOINT. Modes other than `good` apply on SIZE devices:

mute     reports no step
dies     ends with exit code 1 after its first step
ends     is complete after six steps
"""
import os
import pathlib
import sys
import time

from ration import progress

MODE = sys.argv[1] if len(sys.argv) < 3 or sys.argv[2] == os.environ["WORLD_SIZE"] else "good"
WORLD = int(os.environ["WORLD_SIZE"])
SAVED = pathlib.Path(os.environ["RATION_CHECKPOINT"], "step")


def train(job: progress.Progress) -> None:
    step = int(SAVED.read_text()) if SAVED.exists() else 0
    with open("launches", "a", encoding="ascii") as out:
        out.write(f"{os.getpid()} {WORLD} {step}\n")
    first = step
    while not (MODE == "ends" and step == 6):
        time.sleep(0.01 + 0.04 / WORLD + (0.15 * WORLD if step < first + 2 else 0))
        step += 1
        if MODE != "mute":
            job.step(step, 1.0)
        if MODE == "dies":
            sys.exit("no memory left\n")
        asked = job.command()
        if asked and asked.kind == "stop":
            SAVED.write_text(str(step))
            job.bye(0, "stop")
            return


if os.environ["RANK"] == "0":
    with progress.open() as handle:
        handle.listen()
        handle.hello(world=WORLD, threads=1, devices=os.environ["RATION_DEVICES"].split(","))
        train(handle)
