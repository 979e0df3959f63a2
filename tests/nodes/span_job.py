# SPDX-License-Identifier: BSL-1.0
"""A job on one node or on several. usage: span_job.py STEPS NODES NODE_RANK DEVICES MASTER    a step takes 0.05 s

It has a process on each node. Each computes the gradients of its ranks; that of rank 0 adds them up, and sends the new parameter to the
others. So the loss of a step is the same on any number of nodes. A process whose connection ends early fails.

Each process holds a shared lock of `running.NAME.INCARNATION`, writes `conflict` if one of another incarnation is alive, and adds a line
to `launches`, as job.py does, and one to `worlds`: incarnation, first rank, WORLD_SIZE, and its arguments behind STEPS. On several nodes,
with a file `refuse` it fails, with `hang` rank 0 waits for the others in vain, and with `mute` it sends nothing after its hello.
"""
import fcntl
import pathlib
import socket
import sys
import time

import job

ENV = job.ENV
NODES, NODE_RANK, RANK, WORLD = (int(ENV[key]) for key in ("RATION_NODES", "NODE_RANK", "RANK", "WORLD_SIZE"))
MASTER = (ENV["MASTER_ADDR"], int(ENV["MASTER_PORT"]))
POINTS = 240  # divided among the ranks


def gradient(parameter: float) -> float:
    """That of the points of this node's ranks: an integer sum, so that the order does not count."""
    own = range(RANK, RANK + len(job.DEVICES))
    return sum(point for rank in own for point in range(rank * POINTS // WORLD, (rank + 1) * POINTS // WORLD)) * parameter


def look_for_others() -> None:
    """One process at a time: otherwise the parts of one incarnation would take each other's locks for those of another one."""
    with open("looking", "a") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        for other in pathlib.Path().glob(f"running.{job.NAME}.*"):
            if other.suffix == f".{job.INCARNATION}":
                continue
            with other.open("a") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    pathlib.Path("conflict").write_text(f"{job.NAME} incarnation {job.INCARNATION}: {other} is alive\n")


def note_launch(step: int) -> object:
    look_for_others()
    own = open(f"running.{job.NAME}.{job.INCARNATION}", "a")
    fcntl.flock(own, fcntl.LOCK_SH)
    with open("launches", "a") as out:
        out.write(f"{job.NAME} {job.INCARNATION} {len(job.DEVICES)} {step} {job.os.getpid()}\n")
    with open("worlds", "a") as out:
        out.write(" ".join(map(str, (job.INCARNATION, RANK, WORLD, *sys.argv[2:]))) + "\n")
    return own


def receive(stream) -> str:
    line = stream.readline()
    if not line:
        sys.exit("the connection has ended")
    return line


def follow(lock: object) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            stream = socket.create_connection(MASTER, 5).makefile("rw")
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    while (word := receive(stream).strip()) != "stop":
        stream.write(f"{gradient(float(word))!r}\n")
        stream.flush()


def lead(parameter: float, step: int) -> None:
    streams = []
    if NODES > 1:
        server = socket.create_server(MASTER)
        streams = [server.accept()[0].makefile("rw") for _ in range(NODES - 1)]
    line = job.Line()

    def to_all(text: str) -> None:
        for stream in streams:
            stream.write(text + "\n")
            stream.flush()

    line.report("hello", f"w={WORLD} t=1 g={','.join(job.DEVICES)} rx={line.path}")
    line.report("phase", "ph=train")
    if NODES > 1 and pathlib.Path("mute").exists():
        time.sleep(3600)
    while step < job.STEPS:
        time.sleep(0.05)
        to_all(repr(parameter))
        total = gradient(parameter) + sum(float(receive(stream)) for stream in streams)
        parameter -= total * 2 ** -20
        step += 1
        line.report("step", f"s={step} c=1 l={parameter:.9f} nf=0")
        if step % 5 == 0:
            job.save(step, parameter)
            line.report("ckpt", f"s={step} ok=1 d=0.001")
        for kind, keys in line.received():
            if kind == "stop":
                to_all("stop")
            job.obey(line, kind, keys, step, parameter)
    to_all("stop")
    job.end(line, "done")


def main() -> None:
    words = job.SAVED.read_text().split() if job.SAVED.exists() else ["0", "1.0"]
    lock = note_launch(int(words[0]))
    if NODES > 1 and pathlib.Path("refuse").exists():
        sys.exit("it cannot span nodes")
    if NODE_RANK > 0 and pathlib.Path("hang").exists():
        time.sleep(3600)
    if NODE_RANK > 0:
        follow(lock)
    else:
        lead(float(words[1]), int(words[0]))


main()
