# SPDX-License-Identifier: BSL-1.0
"""Obeys: saves at even steps only, holds, stops."""
import os

from common import progress

with progress.open() as p:
    p.listen()
    p.hello(world=1, threads=1, devices=os.environ["RATION_DEVICES"].split(","))
    p.want(3)
    step, stop = 0, False
    while not stop:
        step += 1
        p.step(step, 1.0, batch=512)
        saved = False
        asked = p.command()
        while asked and asked.kind != "go" and not stop:
            stop = asked.kind == "stop"
            if not stop or not saved:
                saved = saved or step % 2 == 0
                p.checkpoint(step, ok=saved, seconds=0.25)
            if not stop:
                asked = p.hold(asked.by) if saved and asked.hold else p.command()
    p.bye(0, "stop")
