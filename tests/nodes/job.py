# SPDX-License-Identifier: BSL-1.0
"""A job that can be saved, stopped and continued anywhere. usage: job.py STEPS    a step takes 0.05 s

It holds the lock `running.NAME` as long as it lives, and writes `conflict` if another incarnation has it. It adds a line to
`launches`: its name, incarnation, number of devices, first step and pid.
"""
import fcntl
import os
import pathlib
import socket
import sys
import time

STEPS, ENV = int(sys.argv[1]), os.environ
NAME, INCARNATION, TOKEN = ENV["RATION_JOB"], ENV["RATION_INCARNATION"], ENV["RATION_TOKEN"]
DEVICES = ENV["RATION_DEVICES"].split(",")
SAVED = pathlib.Path(ENV["RATION_CHECKPOINT"], "step")
RATION = ENV["RATION_PROGRESS"].removeprefix("unix:")


class Line:
    def __init__(self) -> None:
        self.sequence = 0
        self.out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(os.path.dirname(RATION), f"rx.{NAME}.{INCARNATION}")
        self.commands = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.commands.bind(self.path)

    def report(self, kind: str, fields: str) -> None:
        self.sequence += 1
        try:
            self.out.sendto(f"P1 {kind} e={INCARNATION} k={TOKEN} j={NAME} r=0 q={self.sequence} {fields}".encode(), RATION)
        except OSError:
            pass  # its agent is gone

    def received(self) -> list[tuple[str, dict]]:
        out = []
        while True:
            try:
                words = self.commands.recv(1024).decode().split()
            except BlockingIOError:
                return out
            keys = dict(word.split("=", 1) for word in words[2:])
            if keys["e"] == INCARNATION and keys["k"] == TOKEN:
                self.report("ack", f"c={keys['q']} ok=1")
                out.append((words[1], keys))


def save(step: int, *state: float) -> None:
    fresh = SAVED.with_suffix(".new")
    fresh.write_text(" ".join(map(repr, (step, *state))))
    fresh.rename(SAVED)


def end(line: Line, why: str) -> None:
    line.report("bye", f"rc=0 why={why}")
    pathlib.Path(line.path).unlink(missing_ok=True)
    sys.exit(0)


def obey(line: Line, kind: str, keys: dict, step: int, *state: float) -> None:
    if kind in ("save", "stop"):
        save(step, *state)
    if kind == "stop":
        end(line, "stop")
    if kind == "save":
        line.report("ckpt", f"s={step} ok=1 d=0.001")
        until = time.monotonic() + float(keys.get("by", 0))
        while keys.get("hold") == "1" and time.monotonic() < until:
            for other, more in line.received():
                if other == "go":
                    return
                obey(line, other, more, step, *state)
            time.sleep(0.01)


def main() -> None:
    lock = open(f"running.{NAME}", "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with open("conflict", "a") as out:
            out.write(f"{NAME} incarnation {INCARNATION}\n")
    step = int(SAVED.read_text()) if SAVED.exists() else 0
    with open("launches", "a") as out:
        out.write(f"{NAME} {INCARNATION} {len(DEVICES)} {step} {os.getpid()}\n")
    line = Line()
    line.report("hello", f"w={len(DEVICES)} t=1 g={','.join(DEVICES)} rx={line.path}")
    line.report("phase", "ph=train")
    while step < STEPS:
        time.sleep(0.05)
        step += 1
        line.report("step", f"s={step} c=1 l={10 / (1 + 0.1 * step):.6f} nf=0")
        if step % 5 == 0:
            save(step)
            line.report("ckpt", f"s={step} ok=1 d=0.001")
        for kind, keys in line.received():
            obey(line, kind, keys, step)
    end(line, "done")


if __name__ == "__main__":
    main()
