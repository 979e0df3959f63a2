# SPDX-License-Identifier: BSL-1.0
"""A bad connection to a node. usage: relay.py slow|cut|drop COMMAND...

slow: prints a banner, passes each line on 0.3 s late, and twice. cut: ends within a message of the node, the first time that it runs here.
drop: loses each list that assigns a part without rank 0.
"""
import json
import itertools
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

MODE, COMMAND = sys.argv[1], sys.argv[2:]
DELAY = 0.3 if MODE == "slow" else 0.0
LINES_BEFORE_CUT = 40


def forward(source, target) -> None:
    """A line does not wait for the delay of the one before it."""

    def is_lost(line: bytes) -> bool:
        return MODE == "drop" and any(job.get("node_rank", 0) > 0 for job in json.loads(line).get("jobs", []))

    late: queue.Queue[tuple[float, bytes]] = queue.Queue()

    def read() -> None:
        for line in itertools.filterfalse(is_lost, source):
            late.put((time.monotonic() + DELAY, line))
        late.put((0.0, b""))

    threading.Thread(target=read, daemon=True).start()
    while (item := late.get())[1]:
        time.sleep(max(0.0, item[0] - time.monotonic()))
        target.write(item[1] * (2 if MODE == "slow" else 1))
        target.flush()
    target.close()


def cut_within_a_message(source, target) -> None:
    for number, line in enumerate(source):
        target.write(line if number < LINES_BEFORE_CUT else line[: len(line) // 2])
        target.flush()
        if number == LINES_BEFORE_CUT:
            return


# As on another machine, a signal to the command does not reach the node
node = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
threading.Thread(target=forward, args=(sys.stdin.buffer, node.stdin), daemon=True).start()
mark = pathlib.Path("cut")
if MODE == "cut" and not mark.exists():
    mark.touch()
    cut_within_a_message(node.stdout, sys.stdout.buffer)
    os._exit(0)  # at once, although a thread reads
else:
    if MODE == "slow":
        print("Welcome to this node", flush=True)
    forward(node.stdout, sys.stdout.buffer)
    sys.exit(node.wait())
