# SPDX-License-Identifier: BSL-1.0
"""A job that can change its number of devices, or fails at that in one way. usage: elastic_job.py MODE STEPS [SIZE]

Implements the progress protocol itself, so that the tests compare ration with docs/progress-protocol.md. A step takes 0.05 s; after
STEPS steps the job is done, and leaves a file `done.NAME`. Holds a lock on each of its devices as long as it lives, and writes `conflict` when it cannot have one.
With a share of a GPU it initialises CUDA, writes what it got into `share.NAME`, and writes `conflict` when those who have shares then have more than the GPU.

good           does what it is asked
never-saves    answers the command, and continues to train
save-fails     reports that its checkpoint failed
dies-saving    is gone in the middle of its first checkpoint
ignores-stop   ignores the command to stop and SIGTERM
never-stops    answers the command to stop, and continues to train
lacks-stop     reports that it does not support the command to stop
wrong-devices  with SIZE devices, reports that it sees others
wrong-rank     with SIZE devices, reports for its second rank that it sees another
dies-at        with SIZE devices, ends before its hello
dies-early     with SIZE devices, ends between its hello and its first step
mute-at        with SIZE devices, never sends hello
wants          asks for SIZE devices, and then for invalid numbers of devices
no-client      with a share of a GPU, never initialises CUDA
watches-files  looks at its device files all the time
saves-and-dies saves every 10 steps, and fails once when there is a file `die.NAME`
outlasts       trains until another job is done
plain          reports, and neither receives commands nor saves
"""
import ctypes
import fcntl
import os
import pathlib
import re
import signal
import socket
import sys
import time

MODE, STEPS = sys.argv[1], int(sys.argv[2])
SIZE = int(sys.argv[3]) if len(sys.argv) > 3 else 0
ENV = os.environ
NAME, EPOCH, TOKEN = ENV["RATION_JOB"], ENV["RATION_INCARNATION"], ENV["RATION_TOKEN"]
DEVICES = ENV.get("RATION_DEVICES", "cpu-0").split(",")
SAVED = pathlib.Path(ENV.get("RATION_CHECKPOINT", "."), "step")
RATION = ENV["RATION_PROGRESS"].removeprefix("unix:")


class Line:
    """Both directions."""

    def __init__(self) -> None:
        self.sequence = 0
        self.out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(os.path.dirname(RATION), f"rx.{NAME}.{EPOCH}")
        self.box = None
        if MODE != "plain":
            self.box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            pathlib.Path(self.path).unlink(missing_ok=True)
            self.box.bind(self.path)

    def say(self, words: str, rank: int = 0) -> None:
        self.sequence += 1
        text = words.split(" ", 1)
        message = f"P1 {text[0]} e={EPOCH} k={TOKEN} j={NAME} r={rank} q={self.sequence} {text[1]}"
        try:
            self.out.sendto(message.encode(), RATION)
        except OSError:
            pass  # ration is gone for a while, or its queue is full

    def heard(self) -> list[dict]:
        commands = []
        while self.box:
            try:
                words = self.box.recv(1024).decode().split()
            except BlockingIOError:
                break
            keys = dict(word.split("=", 1) for word in words[2:])
            if words[0] == "C1" and keys["e"] == EPOCH and keys["k"] == TOKEN:
                known = MODE != "lacks-stop" or words[1] != "stop"
                self.say(f"ack c={keys['q']} ok={known:d}")
                commands.append(dict(keys, type=words[1]))
        return commands


def lock_devices() -> list:
    """A job that cannot lock one of its devices writes `conflict`: that must never happen."""
    held = []
    for device in DEVICES:
        file = open(f"lock.{device}", "a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            conflict(device)
        held.append(file)
    return held


def is_alive(pid: str) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def conflict(what: str) -> None:
    with open("conflict", "a") as out:
        out.write(f"{NAME} incarnation {EPOCH}: {what}\n")


def take_share(percent: int) -> None:
    """Records the share of the launch, and the multiprocessors that the driver gives for it."""
    with open("shares", "a+") as all_of:
        fcntl.flock(all_of, fcntl.LOCK_EX)
        all_of.seek(0)
        others = sum(int(words[1]) for words in map(str.split, all_of) if is_alive(words[0]))
        all_of.write(f"{os.getpid()} {percent}\n")
    if others + percent > 100:
        conflict(f"{others} and {percent} % of one GPU")
    multiprocessors = ctypes.c_int(-1)
    if MODE != "no-client":
        ENV["RATION_STAND_IN_GPUS"] = "gpus"  # ration hands no RATION_* on
        cuda = ctypes.CDLL("libcuda.so.1")
        if cuda.cuInit(0) != 0 or cuda.cuDeviceGetAttribute(ctypes.byref(multiprocessors), 16, 0) != 0:
            conflict("CUDA cannot be initialised")
    with open(f"share.{NAME}", "a") as out:
        out.write(f"{percent} {multiprocessors.value} {ENV['CUDA_VISIBLE_DEVICES']} {ENV['CUDA_MPS_PIPE_DIRECTORY']}\n")


def try_files() -> None:
    """Records which of the files that represent GPUs it can open."""
    opened = []
    for node in sorted(pathlib.Path("nodes").glob("*")):
        try:
            node.open("rb").close()
            opened.append(node.name)
        except PermissionError:
            pass
    if pathlib.Path("nodes").exists():
        with open(f"opened.{NAME}", "a") as out:
            out.write(" ".join(opened) + "\n")


def save(step: int) -> None:
    fresh = SAVED.with_suffix(".new")
    fresh.write_text(str(step))
    fresh.rename(SAVED)


def end(line: Line, why: str) -> None:
    line.say(f"bye rc=0 why={why}")
    if line.box:
        pathlib.Path(line.path).unlink(missing_ok=True)
    sys.exit(0)


def obey(line: Line, command: dict, step: int) -> None:
    if command["type"] == "stop" and MODE not in ("ignores-stop", "never-stops", "lacks-stop"):
        save(step)
        end(line, "stop")
    if command["type"] != "save" or MODE == "never-saves":
        return
    if MODE == "dies-saving" and not pathlib.Path(f"died.{NAME}").exists():
        pathlib.Path(f"died.{NAME}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "save-fails":
        return line.say(f"ckpt s={step} ok=0")
    save(step)
    line.say(f"ckpt s={step} ok=1 d=0.001")
    until = time.monotonic() + float(command.get("by", 0))
    while command.get("hold") == "1" and time.monotonic() < until:
        for other in line.heard():
            if other["type"] == "go":
                return
            obey(line, other, step)
        time.sleep(0.01)


def save_and_die(line: Line, step: int) -> None:
    if step % 10 == 0:
        save(step)
        line.say(f"ckpt s={step} ok=1")
    if pathlib.Path(f"die.{NAME}").exists():
        pathlib.Path(f"die.{NAME}").unlink()
        sys.exit(5)


def main() -> None:
    bad = SIZE == len(DEVICES)
    percent = ENV.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")
    locks = lock_devices() if percent is None else take_share(int(percent))
    try_files()
    step = int(SAVED.read_text()) if SAVED.exists() else 0
    with open("launches", "a") as out:
        out.write(f"{NAME} {EPOCH} {len(DEVICES)} {step} {os.getpid()}\n")
    if MODE == "dies-at" and bad:
        sys.exit(3)
    if MODE == "ignores-stop":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    line = Line()
    seen = "cpu-77" if MODE == "wrong-devices" and bad else ",".join(DEVICES)
    if not (MODE == "mute-at" and bad):
        line.say(f"hello w={len(DEVICES)} t=1 g={seen}" + (f" rx={line.path}" if line.box else ""))
    if MODE == "wrong-rank" and bad:
        line.say(f"hello w={len(DEVICES)} t=1 g={DEVICES[0]},cpu-77", rank=1)
    while MODE == "mute-at" and bad:
        time.sleep(1)
    if MODE == "dies-early" and bad:
        time.sleep(0.2)
        sys.exit(3)
    line.say("phase ph=train")
    if MODE == "wants":
        for devices in (SIZE, -1, 4097, "many"):
            line.say(f"want n={devices}")
    while step < STEPS or (MODE == "outlasts" and not list(pathlib.Path().glob("done.*"))):
        time.sleep(0.05)
        step += 1
        line.say(f"step s={step} c=1 l={10 / (1 + 0.1 * step):.6f} nf=0")
        for command in line.heard():
            obey(line, command, step)
        if MODE == "watches-files" and step % 10 == 0:
            try_files()
        if MODE == "saves-and-dies":
            save_and_die(line, step)
    pathlib.Path(f"done.{NAME}").touch()
    end(line, "done")
    del locks


assert re.fullmatch(r"[0-9a-f]{16}", TOKEN)
main()
