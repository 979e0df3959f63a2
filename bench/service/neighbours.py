#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""How long do a request of root and a limit of a job of root wait while another user attacks the service?

usage: bench/run.sh service.neighbours [--program RATION] [--samples N] [--short] [ATTACK...], as root, with cgroups and the accounts man and games

Each attack has a separate service. Root has a job that burns CPU, and one after another jobs that reach Acceptable. The request is
that of `ration status`; the limit is the time from the report that reaches Acceptable to the changed quota in the kernel. The attacker is
`man`, and `games` where two are needed. A quiet service is the baseline.

The state folder is in the folder for temporary files: TMPDIR=/dev/shm leaves the disk out.

Exit code: 0, 1 when a time is above 50 ms or an answer is wrong. --short: one limit for each attack, all attacks at once and without
the baseline, and times do not matter.
"""
import argparse
import contextlib
import itertools
import json
import os
import pathlib
import pwd
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "decision")]
from decision import quota_file  # noqa: E402
from service import Service  # noqa: E402

MOST = 50  # ms
PATIENCE = 60  # seconds
DWELL = 2.5  # seconds after which a limit may change again
PYTHON = "/usr/bin/python3"
# A machine counts as full at any use: on one with other load the jobs may get little.
CONFIG = 'policy = "tradl"\ntradl = { alpha = 0.001, scenario = "AO" }\ncpus = 1\ntick = "250ms"\n'
DEVICES = 'policy = "pollux"\ndevices = { count = 8, cpu = 0.1 }\ntick = "200ms"\n'
REPORT = """
import os, socket, sys, time
e, q = os.environ, 0
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def send(text):
    global q
    q += 1
    s.sendto(f"P1 {text} e={e['RATION_INCARNATION']} k={e['RATION_TOKEN']} j={e['RATION_JOB']} r=0 q={q}".encode(), e["RATION_PROGRESS"][5:])
"""
CROSS = REPORT + """
out = open(sys.argv[1], "w", buffering=1)
print(os.getpid(), file=out)
send("hello w=1")
send("step s=1 c=1 l=1")
while not os.path.exists(sys.argv[1] + ".go"): time.sleep(0.001)
now = time.monotonic_ns()
send("step s=2 c=1 l=-1e9")
print(now, file=out)
while not os.path.exists(sys.argv[1] + ".end"): time.sleep(0.02)
send("bye x=0")
"""
DELIVER = REPORT + """
os.rmdir(e["RATION_CHECKPOINT"])
os.symlink(sys.argv[1], e["RATION_CHECKPOINT"])
with open(sys.argv[1] + "/model", "wb") as f: f.truncate(1_000_000_000)
send("hello w=1")
for step in (1, 2, 3):
    send(f"step s={step} c=1 l=0.5")
    time.sleep(0.3)
send("ckpt s=3 ok=1")
time.sleep(600)
"""
FLOOD = """
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
while True: s.sendto(b"x" * 1000, os.environ["RATION_PROGRESS"][5:])
"""
HOLD = """
import os, socket, sys, time
os.setuid(int(sys.argv[2]))
held = []
def is_open(s):
    try: return s.recv(1) != b""
    except BlockingIOError: return True
    except OSError: return False
while True:
    while len(held) < 16:
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try: s.connect(sys.argv[1])
        except OSError: break
        held.append(s)
    held = [s for s in held if is_open(s)]
    time.sleep(0.02)
"""
ASK = """
import os, socket, sys, threading
os.setuid(int(sys.argv[2]))
def ask():
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(sys.argv[1])
                s.sendall(b"GET /v1/jobs HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
                while s.recv(1 << 16): pass
        except OSError: pass
for _ in range(15): threading.Thread(target=ask).start()
"""
PATTERNS = ", ".join(f"'(?:(?:a?){{90}}){{4}}{'b' * i}loss=(?<loss>\S+)'" for i in range(1, 17))


def wait_for(condition: Callable[[], object], what: str) -> object:
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > until:
            sys.exit(f"neighbours.py: {what} within {PATIENCE} s; read the messages of the service")
        time.sleep(0.02)
    return found


@contextlib.contextmanager
def rights_of(user: int) -> Iterator[None]:
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


class Machine:
    """A service with a job of root that burns CPU, and the folders of an attacker."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, config: str) -> None:
        self.folder = folder
        self.man, self.games = (pwd.getpwnam(name) for name in ("man", "games"))
        folder.chmod(0o711)
        self.tree = folder / "tree"  # of the attacker
        self.tree.mkdir(mode=0o700)
        os.chown(self.tree, self.man.pw_uid, self.man.pw_gid)
        (folder / "serve.toml").write_text(config)
        self.service = Service(str(program), folder, "--config", str(folder / "serve.toml"), "--max-running", "64", backend="cgroup")
        self.socket = str(folder / "state" / "socket")
        self.keys = itertools.count(1)
        self.burner = self.submit(0, [PYTHON, "-c", "while True: pass"], "target = { loss = { acceptable = 0 } }")

    def submit(self, user: int, command: list[str], more: str, after: tuple[int, ...] = ()) -> int:
        with rights_of(user):
            return self.submit_as_is(command, more, after)

    def submit_as_is(self, command: list[str], more: str, after: tuple[int, ...] = ()) -> int:
        """With the rights that the process has."""
        body = {"key": f"{next(self.keys)}", "definition": f'[[job]]\nname = "j"\ncommand = {json.dumps(command)}\nat_objective = "continue"\n{more}\n',
                "directory": "/", "environment": ["PATH=/usr/bin:/bin"], "after": list(after)}
        status, content = self.service.ask("POST", "/v1/jobs", body)
        if status >= 300:
            sys.exit(f"neighbours.py: a job was refused: {content['error']}")
        return content["id"]

    def attack(self, command: list[str], more: str = "", target: str = "target = { loss = { objective = 0 } }", user: int | None = None) -> None:
        self.submit(self.man.pw_uid if user is None else user, command, f"{target}\n{more}")

    def list(self) -> dict[int, str]:
        """The stage of each job."""
        stages: dict[int, str] = {}
        after = 0
        while after is not None:
            status, content = self.service.ask("GET", f"/v1/jobs?after={after}")
            if status != 200:
                return {}
            stages.update((job["id"], job["stage"]) for job in content["jobs"])
            after = content["next"]
        return stages

    def limit(self, pressure: Callable[[], contextlib.AbstractContextManager]) -> float:
        """Milliseconds from the report of a new job of root to its changed quota."""
        file = self.folder / f"cross{next(self.keys)}"
        job = self.submit(0, [PYTHON, "-c", CROSS, str(file)], "target = { loss = { acceptable = 0.5 } }")
        (pid,) = wait_for(lambda: file.exists() and file.read_text().split(), "a job of root did not start")
        quota = quota_file(int(pid))
        time.sleep(DWELL)
        with pressure():
            before = quota.read_text()
            pathlib.Path(f"{file}.go").touch()
            until = time.monotonic() + PATIENCE
            while quota.read_text() == before:
                if time.monotonic() > until:
                    sys.exit(f"neighbours.py: a limit did not change within {PATIENCE} s")
                time.sleep(0.0001)
            changed = time.monotonic_ns()
        (_, reported) = wait_for(lambda: len(words := file.read_text().split()) == 2 and words, "a job of root did not report")
        pathlib.Path(f"{file}.end").touch()
        wait_for(lambda: self.list().get(job) == "COMPLETED", "a job of root did not complete")
        return (changed - int(reported)) / 1e6

    def end(self) -> None:
        with contextlib.suppress(SystemExit, OSError, IndexError):  # what the service has not ended is killed
            for job in self.list():
                self.service.ask("DELETE", f"/v1/jobs/{job}")
            wait_for(lambda: all(stage in ("COMPLETED", "FAILED", "HALTED") for stage in self.list().values()), "jobs did not end")
        self.service.end()


class Requests:
    """Requests of root, one after another: how many milliseconds each took, and whether each named its running job."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.times, self.wrong, self.over = machine, [], 0, threading.Event()
        self.thread = threading.Thread(target=self.ask)

    def ask(self) -> None:
        while not self.over.wait(0.02):
            begun = time.monotonic()
            try:
                stages = self.machine.list()
            except (OSError, IndexError):  # refused, or ended without an answer
                self.wrong += 1
                return
            self.times.append(1000 * (time.monotonic() - begun))
            self.wrong += stages.get(self.machine.burner) not in ("DEPLOYING", "PROCESSING")

    def __enter__(self) -> "Requests":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


@contextlib.contextmanager
def processes(script: str, path: str, users: list[int]) -> Iterator[None]:
    running = [subprocess.Popen([PYTHON, "-c", script, path, str(user)], cwd="/") for user in users]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


@contextlib.contextmanager
def quiet(_: Machine) -> Iterator[Callable]:
    yield contextlib.nullcontext


@contextlib.contextmanager
def zeros_in_speedup(machine: Machine) -> Iterator[None]:
    """Of jobs that start in one tick and that pollux divides devices among; it sets no quota."""
    target = "target = { loss = { objective = 0 } }"
    first = machine.submit(machine.man.pw_uid, ["sleep", "1"], target)
    for speedup in ("[0, 0, 0, 1]", "[0, 2, 1, 1e9]", "[0, 1, 1, 1e9]"):
        bounds = "bounds = { gpu = { min = 1, max = 3 }, batch = { min = 1, max = 4096 } }"
        machine.submit(machine.man.pw_uid, ["sleep", "600"], f"{target}\n{bounds}\nspeedup = {speedup}", (first,))
    yield None


@contextlib.contextmanager
def costly_pattern(machine: Machine) -> Iterator[Callable]:
    machine.attack(["sh", "-c", "l=$(head -c 4000 /dev/zero | tr '\\0' a); while :; do echo $l; echo $l; sleep 1; done"], f"log = [{PATTERNS}]")
    yield contextlib.nullcontext


@contextlib.contextmanager
def output_flood(machine: Machine) -> Iterator[Callable]:
    for user in (machine.man.pw_uid, machine.games.pw_uid):
        machine.attack(["sh", "-c", "l=$(head -c 4000 /dev/zero | tr '\\0' a); for i in $(seq 50000); do echo $l; done; sleep 600"],
                       "log = 'loss=(?<loss>\\S+)'", user=user)
    yield contextlib.nullcontext


@contextlib.contextmanager
def wide_metrics(machine: Machine) -> Iterator[Callable]:
    with rights_of(machine.man.pw_uid):
        for link in range(10):
            (machine.tree / f"l{link}").symlink_to(".")
    for _ in range(4):
        machine.attack(["sleep", "600"], f'metrics = {{ csv = "{machine.tree}/*/*/*/*/*/*/m.csv" }}')
    yield contextlib.nullcontext


@contextlib.contextmanager
def progress_flood(machine: Machine) -> Iterator[Callable]:
    for _ in range(2):
        machine.attack([PYTHON, "-c", FLOOD])
    yield contextlib.nullcontext


@contextlib.contextmanager
def large_checkpoint(machine: Machine) -> Iterator[Callable]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:  # another file system
        os.chown(other, machine.man.pw_uid, machine.man.pw_gid)
        machine.attack([PYTHON, "-c", DELIVER, other], 'on_acceptable = "save"', "target = { loss = { acceptable = 1, objective = 0.01 } }")
        yield contextlib.nullcontext


@contextlib.contextmanager
def idle_connections(machine: Machine) -> Iterator[Callable]:
    with processes(HOLD, machine.socket, [60_001 + i for i in range(5)]):
        yield contextlib.nullcontext


@contextlib.contextmanager
def many_requests(machine: Machine) -> Iterator[Callable]:
    with rights_of(machine.man.pw_uid), ThreadPoolExecutor(8) as clients:
        list(clients.map(lambda _: machine.submit_as_is(["true"], "target = { loss = { objective = 0 } }"), range(200)))
    with processes(ASK, machine.socket, [machine.man.pw_uid]):
        yield contextlib.nullcontext


@contextlib.contextmanager
def locked_list(machine: Machine) -> Iterator[Callable]:
    @contextlib.contextmanager
    def lock() -> Iterator[None]:
        with contextlib.closing(sqlite3.connect(machine.folder / "state" / "jobs.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            time.sleep(0.5)
            yield
    yield lock


ATTACKS = {attack.__name__: attack for attack in (quiet, zeros_in_speedup, costly_pattern, output_flood, wide_metrics, progress_flood, large_checkpoint,
                                                  idle_connections, many_requests, locked_list)}


def measure(machine: Machine, name: str, samples: int) -> tuple[bool, bool]:
    """Prints a row of the table. Returns whether all answers are right, and whether all times are short enough."""
    with ATTACKS[name](machine) as pressure:
        time.sleep(1)
        with Requests(machine) as requests:
            limits = [machine.limit(pressure) for _ in range(samples)] if pressure else []
            time.sleep(0 if pressure else 2 * samples)
    columns = [text for times in (requests.times, limits)
               for text in ([f"{statistics.median(times):.1f}", f"{max(times):.1f}"] if times else ["–", "–"])]
    print(f"| {name.replace('_', ' ')} | {len(requests.times)} | " + " | ".join(columns) + " |", flush=True)
    if requests.wrong:
        print(f"neighbours.py: {requests.wrong} requests had no answer with the running job of root", file=sys.stderr)
    return not requests.wrong, max([0, *requests.times, *limits]) <= MOST


def run(attack: str, program: pathlib.Path, samples: int) -> tuple[bool, bool]:
    """`measure` with a new service."""
    with tempfile.TemporaryDirectory(prefix="neighbours-") as name:
        machine = Machine(program, pathlib.Path(name), DEVICES if attack == "zeros_in_speedup" else CONFIG)
        try:
            return measure(machine, attack, samples)
        finally:
            machine.end()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/ration")
    arguments.add_argument("--samples", type=int, default=10, help="limits under each attack")
    arguments.add_argument("--short", action="store_true")
    arguments.add_argument("attacks", nargs="*", metavar="ATTACK", choices=[*ATTACKS, []], help=", ".join(ATTACKS))
    options = arguments.parse_args()
    if os.geteuid() != 0:
        print("neighbours.py: only root can act for other users")
        sys.exit(77)
    print("| attack | requests | request: median in ms | worst | limit: median in ms | worst |\n|---|--:|--:|--:|--:|--:|", flush=True)
    chosen = options.attacks or [*ATTACKS]
    attacks = chosen if options.short else [*dict.fromkeys(["quiet", *chosen])]
    with ProcessPoolExecutor(len(attacks) if options.short else 1) as executor:
        outcomes = [*executor.map(run, attacks, itertools.repeat(options.program.resolve()), itertools.repeat(1 if options.short else options.samples))]
    sys.exit(0 if all(right and (soon or options.short) for right, soon in outcomes) else 1)


main()
