# SPDX-License-Identifier: BSL-1.0
"""A job of one process for each device, which changes its size. usage: ranks_job.py STEPS

Rank 0 speaks docs/progress-protocol.md, saves every 10 steps, and writes each start and each durable save into NAME.log. It writes
its activity into NAME.at. The other ranks wait for their end; rank 0 fails without one of them."""
import contextlib
import fcntl
import os
import pathlib
import socket
import subprocess
import sys
import time

STEPS = int(sys.argv[1])
ENV = os.environ
NAME, INCARNATION, TOKEN = ENV["RATION_JOB"], ENV["RATION_INCARNATION"], ENV["RATION_TOKEN"]
DEVICES = ENV["RATION_DEVICES"].split(",")
RATION = ENV["RATION_PROGRESS"].removeprefix("unix:")
SAVED = pathlib.Path(ENV["RATION_CHECKPOINT"], "step")
SAVE_SECONDS = 0.1


class Messages:
    def __init__(self) -> None:
        self.count = 0
        self.out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(os.path.dirname(RATION), f"rx.{NAME}.{INCARNATION}")
        self.commands = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        pathlib.Path(self.path).unlink(missing_ok=True)
        self.commands.bind(self.path)
        self.received: list[dict] = []

    def send(self, kind: str, rest: str) -> None:
        self.count += 1
        with contextlib.suppress(OSError):  # the service is down, or its queue is full
            self.out.sendto(f"P1 {kind} e={INCARNATION} k={TOKEN} j={NAME} r=0 q={self.count} {rest}".encode(), RATION)

    def next_command(self) -> dict | None:
        with contextlib.suppress(BlockingIOError):
            while True:
                words = self.commands.recv(1024).decode().split()
                keys = dict(word.split("=", 1) for word in words[2:])
                if keys["k"] == TOKEN and keys["e"] == INCARNATION:
                    self.send("ack", f"c={keys['q']} ok=1")
                    self.received.append(dict(keys, type=words[1]))
        return self.received.pop(0) if self.received else None


class Job:
    def __init__(self) -> None:
        self.lock = open(f"{NAME}.lock", "a")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.log("runs twice")
        self.step = int(SAVED.read_text()) if SAVED.exists() else 0
        # A rank ends with rank 0, whose end of the pipe is closed then
        self.others = [subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in DEVICES[1:]]
        self.log(f"starts {self.step} {' '.join(str(pid) for pid in (os.getppid(), os.getpid(), *(one.pid for one in self.others)))}")
        self.messages = Messages()

    def log(self, line: str) -> None:
        with open(f"{NAME}.log", "a") as out:
            out.write(line + "\n")

    def enter(self, activity: str) -> None:
        fresh = pathlib.Path(f"{NAME}.at.new")
        fresh.write_text(activity)
        fresh.rename(f"{NAME}.at")

    def save(self) -> None:
        self.messages.send("phase", "ph=save")
        self.enter("saving")
        time.sleep(SAVE_SECONDS)
        fresh = SAVED.with_suffix(".new")
        fresh.write_text(str(self.step))
        fresh.rename(SAVED)
        self.log(f"saved {self.step}")
        self.messages.send("ckpt", f"s={self.step} ok=1 d={SAVE_SECONDS}")
        self.messages.send("phase", "ph=train")
        self.enter("training")

    def end(self, why: str) -> None:
        self.messages.send("bye", f"rc=0 why={why}")
        pathlib.Path(self.messages.path).unlink(missing_ok=True)
        if why == "done":
            self.log("done")
        sys.exit(0)

    def obey(self, command: dict) -> None:
        if command["type"] in ("save", "stop"):
            self.save()
        if command["type"] == "stop":
            self.end("stop")
        until = time.monotonic() + float(command.get("by", 0))
        while command.get("hold") == "1" and time.monotonic() < until:
            other = self.messages.next_command()
            if other and other["type"] == "go":
                return
            if other:
                self.obey(other)
            time.sleep(0.01)

    def run(self) -> None:
        self.enter("launching")
        time.sleep(0.2)
        self.messages.send("hello", f"w={len(DEVICES)} t=1 g={','.join(DEVICES)} rx={self.messages.path}")
        self.messages.send("phase", "ph=train")
        self.enter("training")
        while self.step < STEPS:
            time.sleep(0.03)
            if any(one.poll() is not None for one in self.others):
                sys.exit(9)
            self.step += 1
            self.messages.send("step", f"s={self.step} c=1 l={10 / (1 + 0.1 * self.step):.6f} nf=0")
            while command := self.messages.next_command():
                self.obey(command)
            if self.step % 10 == 0:
                self.save()
        self.end("done")


Job().run()
